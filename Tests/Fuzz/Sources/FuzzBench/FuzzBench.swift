import CFuzzBench

/// Runs a check of an input within limits of memory and of a second of processor time; traps when they are exceeded, or a property doesn't hold.
///
/// - Parameters:
///   - single: the largest allocation, in bytes.
///   - total: the bytes of all allocations together, freed ones included.
///   - problem: returns what is wrong.
public func fuzz(
    _ bytes: UnsafePointer<UInt8>?,
    _ count: Int,
    single: Int,
    total: Int,
    _ problem: ([UInt8]) -> String?
) -> CInt {
    // Unsafe: libFuzzer's bytes are good for as long as this call takes.
    let input = Array(UnsafeBufferPointer(start: bytes, count: count))
    fuzz_bench_begin(single, total)
    let problem = problem(input)
    fuzz_bench_end()
    if let problem { fatalError(problem) }
    return 0
}
