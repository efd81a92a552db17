#include <tern/core/error.h>
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

TEST_CASE("a failed check says what was streamed into it, and where it stands") {
  const std::string error =
      error_of([] { check(1 + 1 == 3, "add: needs ", 3, ", got ", 2.5, " and ", true); });
  CHECK(contains(error, "add: needs 3, got 2.5 and true (tests/core/error.cpp:"));
}

TEST_CASE("a check that holds does not put its text together") {
  struct Explosive {
    const char* text;
  };
  struct Printer {
    static std::ostream& print(std::ostream& out) { return out << "printed"; }
  };
  int evaluated = 0;
  check(true, "value ", ++evaluated, Explosive{"x"}.text);
  check_as<IoError>(true, "value ", &Printer::print);
  CHECK(evaluated == 1);
}

TEST_CASE("anything that is true in an if statement may be checked") {
  int value = 0;
  check(&value, "pointers");
  check(7, "numbers");
  CHECK_THROWS_AS(check(static_cast<int*>(nullptr), "null"), Error);
}

TEST_CASE("derived errors can be told apart, and each is an Error") {
  CHECK_THROWS_AS(check_as<IoError>(false, "file"), IoError);
  CHECK_THROWS_AS(check_as<IoError>(false, "file"), Error);
  CHECK_THROWS_AS(check_as<DistributedError>(false, "peer"), DistributedError);
  CHECK_THROWS_AS(check_as<CudaError>(false, "device"), CudaError);
}

TEST_CASE("the place of an error leaves out the folders above the project") {
  CHECK(detail::with_place("m", "../nn/linear.cpp", 7) == "m (nn/linear.cpp:7)");
  CHECK(detail::with_place("m", "/b/include/tern/nn/linear.h", 7) == "m (nn/linear.h:7)");
  CHECK(detail::with_place("m", "main.cpp", 7) == "m (main.cpp:7)");
}
