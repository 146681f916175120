import DaemonConfiguration
import TestSupport
import Testing

/// Damaged files: whatever a typing error or a broken disk makes of a good file, it is read or refused.
@Suite struct ConfigurationMutationTests {
    @Test(
        "A damaged file is either read or refused with positions",
        arguments: 0..<8
    )
    func aDamagedFileIsReadOrRefused(round: Int) {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        let good = Array(DaemonConfigurationTests.complete.utf8)
        let lines = good.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
        for _ in 0..<300 {
            var bytes = lines
            if random.next() % 4 == 0 { bytes.remove(at: Int.random(in: bytes.indices, using: &random)) }
            if random.next() % 4 == 0 {
                bytes.swapAt(Int.random(in: bytes.indices, using: &random), Int.random(in: bytes.indices, using: &random))
            }
            var text = Array(bytes.joined(separator: [UInt8(ascii: "\n")]))
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let index = Int.random(in: text.indices, using: &random)
                switch random.next() % 3 {
                case 0: text[index] = Self.interesting.randomElement(using: &random) ?? 0
                case 1: text.insert(Self.interesting.randomElement(using: &random) ?? 0, at: index)
                default: text.remove(at: index)
                }
            }
            let damaged = String(decoding: text, as: UTF8.self)
            do throws(ConfigurationError) {
                _ = try DaemonConfiguration.parse(text: damaged, file: "f")
            } catch {
                let placed = error.problems.allSatisfy { $0.line >= 1 && $0.column >= 1 && $0.message.contains(";") }
                #expect(!error.problems.isEmpty && placed, "seed \(seed): \(error) for \(damaged.debugDescription)")
                let inOrder = zip(error.problems, error.problems.dropFirst()).allSatisfy { ($0.line, $0.column) <= ($1.line, $1.column) }
                #expect(inOrder, "seed \(seed): \(error)")
            }
        }
    }

    /// The bytes that have a meaning in YAML, and some that have none.
    static let interesting: [UInt8] =
        Array("{}[],:-?&*!|>'\"%@`#~<= \t\n\r\\0/9.aK".utf8) + [0, 0x1B, 0x7F, 0xC3, 0xA9, 0xFF, 0xEF, 0xBB, 0xBF]

    @Test("Deep nesting is refused")
    func deepNestingIsRefused() {
        for opening in ["[", "{a: ", "- "] {
            let text = "children: " + String(repeating: opening, count: 5000)
            #expect(ConfigurationProblemTests.problems(of: text).count == 1)
        }
    }

    @Test("Aliases that multiply are refused")
    func aliasesThatMultiplyAreRefused() {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...9 {
            text += "a\(level): &a\(level) [" + repeatElement("*a\(level - 1)", count: 10).joined(separator: ", ") + "]\n"
        }
        #expect(
            ConfigurationProblemTests.problems(of: text) == [
                "f:1:1: the file has more than 100000 values (an alias counts as all that it stands for); expected fewer or smaller aliases"
            ]
        )
    }
}
