#![no_main]

#[global_allocator]
static ALLOCATOR: targets::allocations::Counting = targets::allocations::Counting;

libfuzzer_sys::fuzz_target!(|input: &[u8]| targets::segment(input));
