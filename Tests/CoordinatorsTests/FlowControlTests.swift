import Testing

@testable import Coordinators

@Suite("Credit: what leaves is bounded, and always comes back")
struct FlowControlTests {
    private typealias Windows = SendWindows<Int>

    private static let link = Windows.Window(messages: ReceiveCredits.linkMessages, bytes: ReceiveCredits.linkBytes)

    @Test("Many routes with a few messages each never starve the link")
    func manyRoutes() {
        var windows = Windows()
        var credits = ReceiveCredits()
        _ = windows.add(Self.link, route: "")
        for number in 0..<100_000 {
            let route = "/child\(number % 500)"
            let mayLeave = windows.take(number, route: route, size: 100)
            #expect(mayLeave, "message \(number) has to wait though nothing is under way")
            for credit in credits.release(route, 100) {
                let free = windows.add(.init(messages: credit.messages, bytes: credit.bytes), route: credit.route)
                #expect(free.isEmpty)
            }
        }
    }

    @Test("A route's window bounds what is under way on it, in order, and no other route")
    func bound() {
        var windows = Windows()
        _ = windows.add(Self.link, route: "")
        let left = (0..<3_000).filter { windows.take($0, route: "/slow", size: 10) }
        #expect(left == Array(0..<1_024))
        #expect(windows.count == 3_000 - 1_024)
        let mayLeave = windows.take(-1, route: "/other", size: 10)
        #expect(mayLeave)
        let free = windows.add(.init(messages: 100, bytes: 1_000), route: "/slow")
        #expect(free == Array(1_024..<1_124))
    }

    @Test("What is larger than the window leaves when anything is left, and holds up what follows")
    func large() {
        var windows = Windows()
        _ = windows.add(Self.link, route: "")
        let first = windows.take(1, route: "/a", size: 1 << 20)
        let second = windows.take(2, route: "/a", size: 1)
        #expect(first)
        #expect(!second)
        #expect(windows.add(.init(messages: 1, bytes: 1 << 20), route: "/a") == [2])
    }

    @Test("What never left takes nothing")
    func takenBack() {
        var windows = Windows()
        _ = windows.add(Self.link, route: "")
        for number in 0..<10_000 {
            let mayLeave = windows.take(number, route: "/a", size: 2 << 20)
            #expect(mayLeave)
            windows.takeBack(2 << 20, route: "/a")
        }
    }

    @Test("What was given up while it waited takes nothing")
    func givenUp() {
        var windows = Windows()
        _ = windows.add(Self.link, route: "")
        for number in 0..<2_048 { _ = windows.take(number, route: "/a", size: 1) }
        // The first half is under way, the second is given up.
        #expect(windows.add(.init(messages: 1_024, bytes: 1_024), route: "/a", where: { $0 < 1_024 }) == [])
        let left = (5_000..<7_000).filter { windows.take($0, route: "/a", size: 1) }
        #expect(left.count == 1_024)
    }

    @Test("Without a word from the other side there are no bounds")
    func unbounded() {
        var windows = Windows()
        let left = (0..<100_000).filter { windows.take($0, route: "/a", size: 1 << 20) }
        #expect(left.count == 100_000)
    }

    @Test("Any course of sends, refusals and credits ends with nothing waiting", arguments: [1, 2, 3, UInt64.random(in: 0 ... .max)])
    func walk(_ seed: UInt64) {
        print("seed \(seed)")
        var random = Chance(state: seed)
        var windows = Windows()
        var credits = ReceiveCredits()
        _ = windows.add(Self.link, route: "")
        var sizes: [Int: (route: String, size: Int)] = [:]
        var underWay: [Int] = []
        var lastOfRoute: [String: Int] = [:]
        func depart(_ number: Int) {
            let route = sizes[number]?.route ?? ""
            #expect(lastOfRoute[route, default: -1] < number, "order on \(route)")
            lastOfRoute[route] = number
            underWay.append(number)
        }
        func arrive() {
            guard let number = underWay.first, let (route, size) = sizes[number] else { return }
            underWay.removeFirst()
            for credit in credits.release(route, size) {
                for free in windows.add(.init(messages: credit.messages, bytes: credit.bytes), route: credit.route) { depart(free) }
            }
        }
        for number in 0..<20_000 {
            let route = "/r\(random.next() % 40)"
            let size = Int(random.next() % (random.next() % 50 == 0 ? 400_000 : 2_000)) + 1
            sizes[number] = (route, size)
            if windows.take(number, route: route, size: size) { depart(number) }
            for _ in 0..<(random.next() % 3) { arrive() }
        }
        while !underWay.isEmpty { arrive() }
        #expect(windows.count == 0, "\(windows.count) wait though nothing is under way")
    }
}

/// Numbers that a seed decides; https://prng.di.unimi.it/splitmix64.c.
private struct Chance {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
