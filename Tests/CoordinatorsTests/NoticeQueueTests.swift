import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

@Suite("Notices that wait for an observer", .timeLimit(minutes: 1))
struct NoticeQueueTests {
    private let letters = DeadLetters(instruments: Instruments([], tap: Tap(uplink: nil)), uplink: nil)

    private func queue() -> NoticeQueue { NoticeQueue(of: "/a", deadLetters: letters) }

    /// An event that another process has sent; its first byte is its number.
    private func event(_ number: UInt8, bytes: Int) -> ChildObservers.Notice {
        .event(.encoded(.opaque, Bytes([number] + [UInt8](repeating: 0, count: bytes - 1))))
    }

    /// The numbers of the events that waited when the queue has finished.
    private func numbers(_ queue: NoticeQueue) async -> [UInt8] {
        queue.finish()
        var numbers: [UInt8] = []
        for await case .event(.encoded(_, let bytes)) in queue { numbers.append(bytes.first ?? 0) }
        return numbers
    }

    @Test("Large events are dropped beyond four megabytes, the oldest first, and are counted")
    func bytes() async {
        let queue = queue()
        for number in 0..<20 { queue.append(event(UInt8(number), bytes: 1 << 20)) }
        #expect(letters.report.count == 16)
        #expect(letters.report.letters.allSatisfy { $0.reason == .observerTooSlow })
        #expect(await numbers(queue) == [16, 17, 18, 19])
    }

    @Test("One event may wait whatever its size, and read events make room")
    func single() async {
        let queue = queue()
        var reader = queue.makeAsyncIterator()
        for number in 0..<3 {
            queue.append(event(UInt8(number), bytes: 5 << 20))
            _ = await reader.next()
        }
        #expect(letters.report.count == 0)
        queue.append(event(3, bytes: 5 << 20))
        #expect(await numbers(queue) == [3])
    }

    @Test("Small events are dropped beyond 256")
    func count() async {
        let queue = queue()
        for number in 0..<300 { queue.append(event(UInt8(number % 256), bytes: 1)) }
        #expect(letters.report.count == 44)
        #expect(await numbers(queue) == (44..<300).map { UInt8($0 % 256) })
    }

    @Test("Events after the end are neither kept nor counted, whether the queue has finished or its reader was cancelled")
    func end() async {
        let finished = queue()
        finished.append(event(1, bytes: 1))
        finished.finish()
        finished.append(event(2, bytes: 1))
        #expect(await numbers(finished) == [1])

        let deserted = queue()
        let reading = Task {
            var reader = deserted.makeAsyncIterator()
            return await reader.next() == nil
        }
        reading.cancel()
        #expect(await reading.value)
        for number in 0..<300 { deserted.append(event(UInt8(number % 256), bytes: 1)) }
        #expect(letters.report.count == 0)
        #expect(await numbers(deserted) == [])
    }
}
