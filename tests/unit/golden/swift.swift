import Foundation
@testable import struct A.B
/// Doc.
@available(iOS 13, *)
public final class C<T>: Base, P where T: X {
  init?(x: Int, _ y: String = "a") { }
  deinit {}
  static func m<U>(_ a: U, with b: Int...) async throws -> [String: Int] { func nested() {} ; return [:] }
  subscript(i: Int) -> Int { return 1 }
  var x: Int { get { 1 } }
  let cl = { (x: Int) in x }
  struct N {}
  class func k() {}
}
protocol P: Q { func r(a: Int) -> Int; var z: Int { get }; init(q: Int); associatedtype AA }
extension C: P2 where T: Y { func ext() {} }
extension Array.Index { func e2() {} }
enum E: String { case a; func f() {} ; indirect case b(Int) }
actor Ac { func g() {} }
typealias TA = Int
func == (a: C, b: C) -> Bool { true }
prefix func - (a: C) -> C { a }
macro mm(x: Int)
