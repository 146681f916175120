import TestSupport
import Testing

/// The fuzzer's inputs, those that have found something among them, without a fuzzer.
@Suite("The corpus of the fuzzer of control requests")
struct RequestCorpusTests {
    @Test("Every request of the corpus is read or refused as it should be", arguments: try FuzzCorpus.inputs("Control"))
    func requests(_ input: FuzzCorpus.Input) {
        #expect(FuzzedRequests.problem(input.bytes) == nil)
    }
}
