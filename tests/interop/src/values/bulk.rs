//! What `Interop::Bulk` passes: many elements that depend on a seed, 1 on the way there and 2 on
//! the way back.

use super::person;
use crate::idl::interop::Person;

pub(crate) fn bulk_octets(count: usize, seed: u32) -> Vec<u8> {
    (0..count as u32).map(|i| (i.wrapping_mul(7) + (i >> 8) + seed) as u8).collect()
}
pub(crate) fn bulk_longs(count: usize, seed: u32) -> Vec<i32> {
    (0..count as u32).map(|i| i.wrapping_mul(2_654_435_761).wrapping_add(seed) as i32).collect()
}
pub(crate) fn bulk_doubles(count: usize, seed: u32) -> Vec<f64> {
    (0..count).map(|i| i as f64 * 0.5 + f64::from(seed)).collect()
}
pub(crate) fn bulk_string(count: usize, seed: u32) -> String {
    (0..count).map(|i| char::from(b'!' + ((i + seed as usize) % 90) as u8)).collect()
}
pub(crate) fn bulk_texts(count: usize, seed: u32) -> Vec<String> {
    (0..count).map(|i| bulk_string((i + seed as usize) % 23, seed)).collect()
}
pub(crate) fn bulk_people(count: usize, seed: u32) -> Vec<Person> {
    (0..count).map(|i| person((i + seed as usize) as i64)).collect()
}
