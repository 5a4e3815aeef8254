//! A dynamic call allocates its argument list, and values of more than 23 octets: nothing else, on
//! either side.
//!
//! One test in a file of its own: it counts the allocations of the whole process.

#![allow(clippy::unwrap_used)] // also in the functions that the test uses

mod echo;

use corbie::{Any, DynamicObject, TypeCode};
use corbie_testkit::CountingAllocator;
use echo::{as_client, loopback_orb, serve};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const CALLS: i64 = 1_000;

fn allocations_of(expected: usize, calls: impl Fn()) -> u64 {
    CountingAllocator::needed(CountingAllocator::of_all_threads, expected as u64, calls)
}

#[test]
fn a_dynamic_call_allocates_its_argument_list_only() {
    let (server, echo, _noted) = serve(&[]);
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo).0;
    let allocations = allocations_of(CALLS as usize, || {
        for value in 0..CALLS {
            let mut request = echo.request("double");
            request.add_in::<i64>("value", &value).unwrap().set_return_type(TypeCode::LONGLONG);
            request.invoke().unwrap();
            assert_eq!(request.returned::<i64>(), Ok(2 * value));
        }
    });
    assert_eq!(allocations, CALLS as u64, "in {CALLS} calls with a number");
    let length_of = |text: &str| {
        let mut request = echo.request("length");
        request.add_in_arg("text", Any::string(text).unwrap());
        request.set_return_type(TypeCode::LONGLONG).invoke().unwrap();
        assert_eq!(request.returned::<i64>(), Ok(text.len() as i64));
    };
    let allocations =
        allocations_of(CALLS as usize, || (0..CALLS).for_each(|_| length_of("a stock symbol")));
    assert_eq!(allocations, CALLS as u64, "in {CALLS} calls with a short string");
    let allocations = allocations_of(2 * CALLS as usize, || {
        (0..CALLS).for_each(|_| length_of("more than 23 octets of text"))
    });
    assert_eq!(allocations, 2 * CALLS as u64, "in {CALLS} calls with a longer string");
    server.shutdown(true);
    client.shutdown(true);
}
