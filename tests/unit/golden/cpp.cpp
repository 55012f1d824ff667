#include <vector>
import std;
using std::string;
using Alias = std::vector<int>;
template <typename T> using Vec = std::vector<T>;
namespace a::b {
namespace {
/// Doc.
template <typename T>
class EXPORT Foo final : public Base<T>, private virtual Other {
 public:
  explicit Foo(int x) : x_(x) {}
  ~Foo() override = default;
  virtual int pure(int a = 1) const = 0;
  Foo& operator=(const Foo&) = delete;
  bool operator()(int a) const { return true; }
  operator bool() const;
  static std::unique_ptr<Foo> make() { auto l = [](int q) { return q; }; }
  template <class U> void tm(U u);
  struct Nested { int a; };
  enum class E : int { A };
  friend void fr(int);
  int field;
  std::function<int(int)> cb;
  int (*fp)(int);
};
}
}
int a::b::Foo::pure(int a) const { return 1; }
template <typename T> void ns::Foo<T>::tm(T u) {}
ns::Foo::Foo() {}
ns::Foo::~Foo() {}
bool operator==(const A& a, const B& b) { return true; }
Foo& Foo::operator=(Foo&& o) { }
auto trailing(int x) -> decltype(x) { }
extern "C" { void cfn(int); }
concept_t int x;
template<typename T> concept Hashable = requires(T a) { a; };
union U { int a; };
[[nodiscard]] int attr();
class Fwd;
enum Old { X };
typedef struct { int a; } Anon;
Type& ref_ret(int) { }
Type&& rref(int) { }
template <> struct hash<Foo> { };
DEFINE_FLAG(int, depth, 1);

class LIB_EXPORT Widget : public QObject {
  Q_OBJECT
 public:
  Widget(int a, int b = 2);
  template <typename T> T get() const { return T(); }
  LIB_DEPRECATED int old();
};

class Widget::Private {};

TEST(WidgetTest, Shows) { EXPECT_TRUE(true); }

DEFINE_TEXT(banner, "words over",
            "two lines");

int after_macro(int x) { return x; }
