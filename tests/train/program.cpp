// What main is made of: statuses, errors, output and numbers on the command line.
#include <tern/tests/support/layouts.h>
#include <tern/train/program.h>
#include <tern/train/running_loss.h>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

using namespace tern;
using namespace tern::tests;

TEST_CASE("a program's status is that of its body, and 1 after an exception") {
  CHECK(train::run_program([] { return 0; }) == 0);
  CHECK(train::run_program([] { return 105; }) == 105);
  CHECK(train::run_program([]() -> int { throw std::runtime_error("expected by this test"); }) == 1);
}

TEST_CASE("whole numbers on the command line have digits alone and fit") {
  const auto any = train::whole_number(), some = train::whole_number(1, 1024);
  for (const char* const good : {"0", "7", "18446744073709551615", "007"}) CHECK(any(good).empty());
  for (const char* const bad :
       {"-1", "+1", "", " 1", "1 ", "1x", "1.0", "1e3", "18446744073709551616", "nan"}) {
    CHECK(any(bad) == "needs a whole number from 0 to 18446744073709551615, got " + std::string(bad));
  }
  CHECK(some("1").empty());
  CHECK(some("1024").empty());
  CHECK(some("0") == "needs a whole number from 1 to 1024, got 0");
  CHECK(some("1025") == "needs a whole number from 1 to 1024, got 1025");
}

TEST_CASE("numbers on the command line are finite and not below their least") {
  const auto positive = train::number();
  for (const char* const good : {"0", "0.5", "1e-7", "3", "1e300"}) CHECK(positive(good).empty());
  for (const char* const bad : {"-1", "-1e-9", "nan", "inf", "", "x", "1,5", "1e999"}) {
    CHECK(positive(bad) == "needs a number of at least 0, got " + std::string(bad));
  }
  CHECK(train::number(-0.5)("-0.5").empty());
}

TEST_CASE("a running loss is the mean over samples, and stops at what is not finite") {
  train::RunningLoss loss(3);
  CHECK(std::isnan(loss.mean()));
  loss.add(1, 3);
  loss.add(5, 1);
  CHECK(loss.mean() == 2);
  for (const double bad : {NAN, INFINITY, -INFINITY})
    CHECK_THROWS_AS(train::RunningLoss(1).add(bad, 1), Error);
  CHECK(fails_with("training: the loss is nan in epoch 3, step 3;", [&] { loss.add(NAN, 4); }));
  CHECK(loss.mean() == 2);
}
