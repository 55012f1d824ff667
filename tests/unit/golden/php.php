<?php
declare(strict_types=1);
namespace A\B;
use X\Y as Z;
use function a\b;
use P\{Q, R};
require_once __DIR__ . '/x.php';
include 'y.php';
/** Doc. */
#[Attr(1)]
final class C extends D implements I, J {
  use T1, T2;
  public function __construct(private int $x = 1, string ...$y) {}
  /** M doc */
  abstract protected static function m(?array &$a): ?string;
  public function n() { $f = function ($x) use ($y) { return 1; }; $g = fn($x) => $x; function nested() {} return new class extends Q { function z() {} }; }
}
interface I extends K, L { function q(); }
trait T { function t() {} }
enum E: string implements I { case A = 'a'; function e() {} }
function top(int $a): int { }
$h = function ($x) {};
