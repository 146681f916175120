import TestSupport
import Testing

/// The tests that documents name as proofs.
@Suite("Tests that documents name")
struct NamedTestsTests {
    @Test("Every test that a document names exists", arguments: [".github/SECURITY.md", "Tests/README.md"])
    func exist(_ document: String) throws {
        let names = Self.names(in: try #require(Files.text(of: "\(Files.packageRoot)/\(document)")))
        #expect(names.count > 20)
        let sources = Self.sources
        for name in names {
            let parts = name.split(separator: ".").map(String.init)
            let (type, function) = (parts[parts.count - 2], parts[parts.count - 1])
            let isThere = sources.contains { source in
                source.contains("func \(function)(") && (source.contains("struct \(type) ") || source.contains("extension \(type) "))
            }
            #expect(isThere, "\(document) names \(name), which isn't a test")
        }
    }

    @Test("Every claim of the threat model names a test")
    func claims() throws {
        let text = try #require(Files.text(of: "\(Files.packageRoot)/.github/SECURITY.md"))
        let claims = text.components(between: "## Another user", and: "## Out of scope").replacing("\n  ", with: " ").split(separator: "\n")
            .filter { $0.hasPrefix("- ") }
        #expect(claims.count > 15)
        // What can't be protected needs no proof.
        for claim in claims where !claim.hasPrefix("- They are in the memory") {
            #expect(!Self.names(in: String(claim)).isEmpty, "\(claim)")
        }
    }

    /// The names such as `ControlServerTests.pings` in a text.
    private static func names(in text: String) -> [String] {
        let quoted = text.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { !$0.offset.isMultiple(of: 2) }
        return quoted.map { String($0.element) }.filter { name in
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            let areNames = parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" } }
            return parts.count > 1 && parts[0].hasSuffix("Tests") && areNames
        }
    }

    private static var sources: [String] {
        Files.names(in: "\(Files.packageRoot)/Tests").filter { $0.hasSuffix("Tests") }.flatMap { target in
            Catalogue.files(below: "\(Files.packageRoot)/Tests/\(target)").compactMap(Files.text)
        }
    }
}

extension String {
    /// Returns what stands between two texts.
    fileprivate func components(between start: String, and end: String) -> String {
        guard let from = firstRange(of: start)?.upperBound, let to = self[from...].firstRange(of: end)?.lowerBound else { return "" }
        return String(self[from..<to])
    }
}
