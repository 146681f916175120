import Foundation
import Testing

/// The test vectors in the written format: fenced blocks of hexadecimal numbers, whose info string is `hex NAME`.
enum HexVectors {
    /// Reads all vectors of the article "Format", by name.
    static func load(_ file: String = #filePath) throws -> [String: [UInt8]] {
        let root = URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let article = root.appendingPathComponent("Sources/WireProtocol/WireProtocol.docc/Format.md")
        return parse(try String(contentsOf: article, encoding: .utf8))
    }

    static func parse(_ text: String) -> [String: [UInt8]] {
        var vectors: [String: [UInt8]] = [:]
        var name: String?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```hex ") {
                name = String(line.dropFirst(7))
                vectors[String(line.dropFirst(7))] = []
            } else if line.hasPrefix("```") {
                name = nil
            } else if let name, !line.hasPrefix("#") {
                vectors[name]? += line.split(separator: " ").map { byte in
                    guard let value = UInt8(byte, radix: 16), byte.count == 2 else {
                        Issue.record("\(name): \(byte) is not a byte")
                        return 0
                    }
                    return value
                }
            }
        }
        return vectors
    }
}
