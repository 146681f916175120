import TestSupport
import Testing
import WireProtocol

/// The fuzzers' inputs, those that have found something among them, without a fuzzer.
@Suite("The corpora of the fuzzers of frames and compact values")
struct CorpusTests {
    @Test("Every frame of the corpus is read or refused as it should be", arguments: try FuzzCorpus.inputs("Frame"))
    func frames(_ input: FuzzCorpus.Input) throws {
        #expect(FuzzedFrames.problem(input.bytes) == nil)
    }

    @Test("Every value of the corpus is read or refused as it should be", arguments: try FuzzCorpus.inputs("Compact"))
    func values(_ input: FuzzCorpus.Input) throws {
        #expect(FuzzedCompact.problem(input.bytes) == nil)
    }

    @Test("The corpus has the written format's vectors, as they are now")
    func vectors() throws {
        let vectors = try HexVectors.load()
        let isCompact = { (name: String) in name.hasPrefix("compact-") }
        for (corpus, belongs) in [("Frame", { !isCompact($0) }), ("Compact", isCompact)] as [(String, (String) -> Bool)] {
            let inputs = Dictionary(uniqueKeysWithValues: try FuzzCorpus.inputs(corpus).map { ($0.name, $0.bytes) })
            for (name, bytes) in vectors where belongs(name) {
                #expect(inputs[name] == bytes, "\(name): run Tests/Fuzz/seed")
            }
        }
    }
}
