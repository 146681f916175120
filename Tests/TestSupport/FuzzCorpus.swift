public import Testing

/// The inputs that the fuzzers of `Tests/Fuzz` begin with.
public enum FuzzCorpus {
    /// One input, and the name of its file.
    public struct Input: Sendable, CustomTestStringConvertible {
        public let name: String
        public let bytes: [UInt8]

        public var testDescription: String { name }
    }

    /// Returns the inputs of a fuzzer, such as `Frame`.
    public static func inputs(_ fuzzer: String) throws -> [Input] {
        let directory = "\(Files.packageRoot)/Tests/Fuzz/Corpus/\(fuzzer)"
        let inputs = Files.names(in: directory).compactMap { name in
            Files.bytes(of: "\(directory)/\(name)").map { Input(name: name, bytes: $0) }
        }
        try #require(!inputs.isEmpty, "there is no corpus in \(directory)")
        return inputs
    }
}
