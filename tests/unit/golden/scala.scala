package a.b
import x.y.{Z => Q, _}
import a.b, c.d
/** Doc. */
@ann
sealed abstract class C[T <: B](val a: Int, b: String = "") extends D(a) with E[T] {
  def this(x: Int) = this(x, "")
  override def m[U](x: U)(implicit y: Int): List[U] = { def nested(z: Int) = z; ??? }
  val f = (x: Int) => x
  type A = Int
  def +(o: C) = o
}
case class P(x: Int, y: Int)
object O extends App { def z(): Unit = {} }
case object CO
trait T { def r: Int }
enum Color(val rgb: Int) extends X { case Red extends Color(1) }
given intOrd: Ord[Int] with { def compare(a: Int) = 1 }
given Ord[String] = ???
extension (s: String) def ext(a: Int): Int = 1
extension [A](xs: List[A]) { def e2 = 1 }
implicit class Rich(x: Int) { def q = 1 }
type Al[T] = List[T]
def top(x: Int) = x
package object po { def w = 1 }
def indent(x: Int): Int =
  x + 1
