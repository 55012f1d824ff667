package a.b;
import static java.util.List.of;
import java.io.*;
/** Doc. */
@Foo(x = 1)
public class A<T extends B> extends C<T> implements D, E<F> {
  @Override
  public <X> List<X> m(final String a, int... b) throws IOException { Runnable r = new Runnable() { public void run() {} }; class L {} return null; }
  A() {}
  record R(int a, String b) implements D { R { } static void q() {} }
  enum En implements D { X { void z() {} }; int f; void y() {} }
  interface I extends J, K { void n(); default int o() { return 1; } }
  @interface An { String value() default ""; }
}
module foo.bar { requires x; }
class Outer {
  /**
   * Finds a <code>User</code> by {@code id}, e.g. {@link Store#find the first}. Never null.
   *
   * @param id the id
   */
  @Nullable
  @Cached(ttl = "1(h)")
  protected static <T extends Comparable<T>> Map<String, List<T>> find(
      @NotNull final String id, // the id
      Map<String, int[]> rest,
      Object... more)
      throws NotFound {
    return null;
  }
}
