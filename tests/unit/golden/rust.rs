use std::{fmt, io::Read};
pub mod inner { fn f() {} }
mod other;
/// Doc of S.
#[derive(Debug)]
pub struct S<T> where T: Clone { x: T }
impl<T> S<T> where T: Clone {
    /// Makes.
    #[inline]
    pub fn new(x: T, mut y: &'a str) -> Result<Self, Error> { fn nested() {} }
}
impl<'a> fmt::Display for &'a mod_x::S<T> { fn fmt(&self, f: &mut F) -> fmt::Result { } }
pub trait Tr: Clone + Send { fn req(&self); type X; fn def(&self) {} }
enum E { A, B(u8) }
union U { a: u8 }
type Al<T> = Vec<T>;
macro_rules! mac { () => {} }
extern "C" { fn c_fn(x: c_int) -> c_int; }
extern crate foo as bar;
async unsafe fn g() {}

/// Converts [`Text`](crate::Text) into *bytes*.
///
/// # Errors
#[must_use]
#[cfg(
    feature = "std"
)]
pub(crate) async fn convert<'a, T>(text: &'a [T], (a, b): (u8, u8)) -> impl Iterator<Item = T> + 'a
where
    T: Clone,
{
    todo!()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts() {}
}
