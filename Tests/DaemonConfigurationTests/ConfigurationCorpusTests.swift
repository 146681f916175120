import TestSupport
import Testing

/// The fuzzer's inputs, those that have found something among them, without a fuzzer.
@Suite("The corpus of the fuzzer of configuration files")
struct ConfigurationCorpusTests {
    @Test("Every file of the corpus is read or refused as it should be", arguments: try FuzzCorpus.inputs("Configuration"))
    func files(_ input: FuzzCorpus.Input) {
        #expect(FuzzedConfigurations.problem(input.bytes) == nil)
    }
}
