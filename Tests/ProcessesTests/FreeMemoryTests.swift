import Glibc
import TestSupport
import Testing

@testable import Processes

extension ProcessesTests {
    @Suite struct FreeHeap {
        /// The anonymous memory of this process, in kibibytes; see proc_pid_status(5).
        private static var kibibytes: Int {
            let line = (Files.text(of: "/proc/self/status") ?? "").split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
            return line?.split(whereSeparator: { " \t".contains($0) }).dropFirst().first.flatMap { Int($0) } ?? 0
        }

        @Test(.disabled(if: Sanitizer.isOn, "the sanitizers have heaps of their own"))
        func whatABurstHasLeftIsGivenBack() throws {
            // Blocks of a size that the heap serves itself, the last of which keeps it from being shortened by itself.
            let (size, count) = (1 << 10, 128 << 10)
            var blocks = (0..<count).map { _ in malloc(size) }
            for case let block? in blocks { memset(block, 1, size) }
            let pin = blocks.removeLast()
            for block in blocks { free(block) }
            let before = Self.kibibytes
            FreeMemory.giveBack()
            let after = Self.kibibytes
            free(pin)
            #expect(before - after > 64 << 10, "\(before) KiB before, \(after) after")
        }
    }
}
