using System;
using static A.B;
using X = Y.Z;
namespace N.M {
/// <summary>Doc <see cref="T:X.Y"/> here. More</summary>
[Serializable]
public partial class C<T> : Base<T>, I where T : new() {
  public C(int x) : base(x) { }
  ~C() {}
  [Obsolete("x")]
  public async Task<int> M<U>(string a, params int[] b) => 1;
  public int Prop { get; set; }
  int this[int i] => 1;
  public static C operator +(C a, C b) { void Local() {} return a; }
  public static implicit operator int(C a) => 1;
  void I.Explicit() {}
  public event EventHandler E;
  delegate void D(int x);
  struct S { }
  enum E2 : byte { A }
}
interface I { void Q(); }
record R(int A, string B) : I;
record struct RS(int A);
}
