import ConcurrencySupport
import Control
import Coordinators
import TestSupport
import Testing

@testable import CoordinatorDaemon

@Suite("The daemon's events", .timeLimit(minutes: 1))
struct EventLogTests {
    @Test("A reader that was away gets what is kept, and the number of what isn't")
    func gap() {
        let log = EventLog(capacity: 10)
        for number in 1...25 { log.append(ControlEvent(kind: .started, path: "/a", incarnation: UInt32(number))) }
        let whole = log.page(after: log.beginning)
        #expect(whole.events.map(\.number) == Array(16...25))
        #expect(whole.events.map { $0.incarnation.map(Int.init) } == Array(16...25))
        let late = log.page(after: 3)
        #expect(late.events.map(\.kind).first == .gap)
        #expect(late.events.first?.count == 12)
        #expect(late.events.dropFirst().map(\.number) == Array(16...25))
        #expect(log.page(after: 20).events.map(\.number) == Array(21...25))
        #expect(log.page(after: 25).events.isEmpty)
        // A number of another daemon that this one hasn't reached.
        #expect(log.page(after: 1000).events.isEmpty)
    }

    @Test("As many events as the ring holds, one fewer and one more", arguments: [1, 9, 10, 11, 20, 21])
    func edges(_ count: Int) {
        let log = EventLog(capacity: 10)
        for _ in 0..<count { log.append(ControlEvent(kind: .paused)) }
        let kept = log.page(after: log.beginning).events.map { Int($0.number) }
        #expect(kept == Array(max(1, count - 9)...count))
    }

    @Test("A reader at the end is woken by the next event")
    func waiting() async throws {
        let log = EventLog()
        let more = try #require(log.page(after: 0).more)
        log.append(ControlEvent(kind: .paused))
        await more.value
        #expect(log.page(after: 0).events.count == 1)
    }

    @Test("The last lives of a path, with their ends")
    func history() throws {
        let log = EventLog()
        for life: UInt32 in 1...40 {
            let (start, end) = ("2026-11-22T20:00:00.000000Z", "2026-11-22T20:00:02.500000Z")
            let kind: ControlEvent.Kind = life == 1 ? .started : .restarted
            log.append(ControlEvent(time: start, kind: kind, path: "/a", incarnation: life, pid: Int32(life)))
            log.append(ControlEvent(time: end, kind: .crashed, path: "/a", incarnation: life, reason: "signal 9"))
        }
        log.append(ControlEvent(kind: .restarted, path: "/a", incarnation: 41, pid: 41))
        let lives = try #require(log.history(of: "/a")).lives
        #expect(lives.map(\.incarnation) == Array(10...41))
        #expect(lives.first?.durationMilliseconds == 2500 && lives.first?.reason == "signal 9" && lives.first?.pid == 10)
        #expect(lives.last?.ended == nil && lives.last?.pid == 41)
        #expect(log.history(of: "/b") == nil)
    }

    @Test("A log that goes on knows the lives whose beginning the ring has lost, and their order")
    func goingOn() throws {
        let log = EventLog(capacity: 4)
        log.append(ControlEvent(kind: .started, path: "/a", incarnation: 1, pid: 1))
        for life: UInt32 in 1...40 { log.append(ControlEvent(kind: .restarted, path: "/b", incarnation: life)) }
        let bytes = try ControlJSON.value(of: log.legacy)
        let next = EventLog(continuing: try ControlJSON.decode(EventLog.Legacy.self, from: bytes), capacity: 4)
        for path in ["/a", "/b"] {
            let (former, present) = (try #require(log.history(of: path)), try #require(next.history(of: path)))
            #expect(former.lives.map(\.started) == present.lives.map(\.started))
            #expect(former.lives.map(\.incarnation) == present.lives.map(\.incarnation))
        }
    }

    @Test("An event of a kind that a newer daemon sends is read")
    func newer() throws {
        let event = try ControlJSON.decode(
            ControlEvent.self,
            from: ["number": 1, "boot": "a", "time": "2026-11-22T20:00:00.000000Z", "kind": "teleported", "later": true]
        )
        #expect(event.kind == .other)
    }
}
