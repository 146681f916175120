import TestSupport
import Testing

@testable import Coordinators
@testable import Supervision

@Suite("Credit: what may leave a process and what comes back")
struct SendWindowsTests {
    private typealias Windows = SendWindows<Int>

    @Test("There are no limits until the other side has announced some")
    func unbounded() {
        var windows = Windows()
        var left = 0
        for number in 0..<100_000 where windows.enqueue(number, route: "a", size: 1 << 20) { left += 1 }
        #expect(left == 100_000)
        #expect(windows.count == 0)
    }

    @Test("A hundred routes with two hundred messages each never stall, and each keeps its order")
    func manyRoutes() {
        var books = CreditBooks()
        for number in 0..<200 {
            for route in 0..<100 { books.send("/worker/\(route)", size: 64 + number) }
        }
        // More than the link lets be under way at once.
        #expect(!books.waiting.isEmpty)
        books.comeToRest()
        #expect(books.complaints.isEmpty, "\(books.complaints.prefix(5))")
        #expect(books.arrived.count == 20_000)
        #expect(books.windows.count == 0)
        let byRoute = Dictionary(grouping: books.arrived, by: \.route)
        for (route, messages) in byRoute {
            let numbers = messages.map(\.number)
            #expect(numbers == numbers.sorted(), "\(route)")
            #expect(numbers.count == 200)
        }
    }

    @Test("A message larger than the window leaves, and its room comes back when it's taken back")
    func takenBack() {
        var windows = Windows()
        _ = windows.add(.init(messages: 1_000, bytes: 10_000), route: "")
        let isOut = windows.enqueue(1, route: "a", size: 50_000)
        #expect(isOut)
        let sameRoute = windows.enqueue(2, route: "a", size: 1)
        let otherRoute = windows.enqueue(3, route: "b", size: 1)
        #expect(!sameRoute && !otherRoute)
        windows.takeBack(50_000, route: "a")
        let free = windows.release { _ in true }
        #expect(free.sorted() == [2, 3])
        #expect(windows.count == 0)
        // Nothing of the large one is still charged: a route may have a sixteenth of the messages, and one is under way.
        var left = 0
        for number in 0..<1_000 where windows.enqueue(number, route: "a", size: 1) { left += 1 }
        #expect(left == 61)
    }

    @Test("A message that is taken back many times costs nothing")
    func takenBackOften() {
        var books = CreditBooks()
        for _ in 0..<1_000 { books.sendTooLarge("a", size: 2 << 20) }
        let isOut = books.send("a", size: 64)
        #expect(isOut)
        books.comeToRest()
        #expect(books.complaints.isEmpty, "\(books.complaints.prefix(5))")
        #expect(books.arrived.count == 1)
    }

    @Test("Queued messages that are given up cost nothing")
    func givenUp() {
        var windows = Windows()
        _ = windows.add(.init(messages: 16, bytes: 64_000), route: "")
        let first = windows.enqueue(0, route: "a", size: 10)
        #expect(first)
        for number in 1...10 {
            let mayLeave = windows.enqueue(number, route: "a", size: 10)
            #expect(!mayLeave)
        }
        // One message's room, and only the last is wanted.
        let free = windows.add(.init(messages: 1, bytes: 10), route: "a") { $0 == 10 }
        #expect(free == [10])
        #expect(windows.count == 0)
        let next = windows.enqueue(11, route: "a", size: 10)
        #expect(!next)
        windows.removeAll { $0 == 11 }
        #expect(windows.count == 0)
        let nothing = windows.add(.init(messages: 1, bytes: 10), route: "a")
        #expect(nothing.isEmpty)
        // The room that came back is there for the next.
        let last = windows.enqueue(12, route: "a", size: 10)
        #expect(last)
    }

    @Test("All waiting messages can be taken out")
    func removeAll() {
        var windows = Windows()
        _ = windows.add(.init(messages: 16, bytes: 64_000), route: "")
        for number in 0..<5 { _ = windows.enqueue(number, route: "a", size: 1) }
        #expect(windows.count == 4)
        #expect(windows.removeAll() == [1, 2, 3, 4])
        #expect(windows.count == 0)
    }

    @Test(
        "A random walk loses and makes no credit, and no message waits at its end",
        arguments: [UInt64(1), 2, 3, .random(in: 4 ... .max)]
    )
    func randomWalk(_ seed: UInt64) {
        var dice = SeededGenerator(seed: seed, "credit")
        var books = CreditBooks()
        let routes = (0..<100).map { "/worker/\($0)" }
        for _ in 0..<20_000 where books.complaints.isEmpty {
            let route = routes[Int.random(in: 0..<routes.count, using: &dice)]
            switch Int.random(in: 0..<100, using: &dice) {
            case 0..<50:
                // Some are larger than a route's window, and together more than the link's.
                let size = Int.random(in: 0..<20, using: &dice) == 0 ? Int.random(in: 1..<600_000, using: &dice) : 64
                books.send(route, size: size)
            case 50..<52:
                // The bytes beyond this have a window of their own.
                books.sendTooLarge(route, size: CreditWindow.largestSize)
            case 52..<55:
                if let queue = books.waiting[route], let message = queue.randomElement(using: &dice) { books.giveUp(message.number) }
            case 55:
                books.forgetGivenUp()
            default:
                if books.underWay > 0 { books.handle(Int.random(in: 0..<books.underWay, using: &dice)) }
            }
        }
        books.comeToRest()
        #expect(books.complaints.isEmpty, "seed \(seed): \(books.complaints.prefix(5))")
        #expect(books.windows.count == 0)
        #expect(books.waiting.isEmpty)
        books.fill(routes)
        #expect(books.complaints.isEmpty, "seed \(seed): \(books.complaints.prefix(5))")
    }
}
