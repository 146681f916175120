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

    @Test("Deep nesting is refused where it begins to be too deep")
    func deepNestingIsRefused() {
        let openings = [("[", "f:1:1001"), ("{a: ", "f:1:4001"), ("- ", "f:1:2001"), ("? ", "f:1:2001")]
        for (opening, place) in openings {
            let text = String(repeating: opening, count: 5000)
            #expect(ConfigurationProblemTests.problems(of: text) == ["\(place): \(Self.tooDeep)"], "\(opening)")
        }
    }

    @Test("Aliases that nest are refused, however many levels each of them has")
    func aliasesThatNestAreRefused() {
        let (opening, closing) = (String(repeating: "[", count: 600), String(repeating: "]", count: 600))
        let first = "a0: &a0 \(opening)x\(closing)\n"
        #expect(!ConfigurationProblemTests.problems(of: first).contains { $0.contains(Self.tooDeep) })
        let rest = (1...400).map { "a\($0): &a\($0) \(opening)*a\($0 - 1)\(closing)\n" }.joined()
        #expect(ConfigurationProblemTests.problems(of: first + rest) == ["f:2:609: \(Self.tooDeep)"])
    }

    private static let tooDeep =
        "more than 1000 lists and mappings are in one another (an alias counts as all that it stands for); expected fewer levels"

    @Test("Aliases that multiply are refused, as values and as keys", arguments: ["", "? *a29\n: x\n? *a29\n: y\n"])
    func aliasesThatMultiplyAreRefused(end: String) {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...29 {
            text += "a\(level): &a\(level) [" + repeatElement("*a\(level - 1)", count: 10).joined(separator: ", ") + "]\n"
        }
        #expect(
            ConfigurationProblemTests.problems(of: text + end) == [
                "f:1:1: the file has more than 100000 values (an alias counts as all that it stands for); expected fewer or smaller aliases"
            ]
        )
    }
}
