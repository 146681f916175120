import FuzzBench

/// libFuzzer's entry.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    fuzz(bytes, count, single: 1 << 20, total: 64 << 20, FuzzedStoreValue.problem)
}
