import ConcurrencySupport
import Glibc
import TestSupport
import Testing
import WireProtocol

/// Connections that send what no good peer sends.
struct HostileConnections {
    enum Kind: CaseIterable {
        case connectsAndCloses, randomBytes, anotherProtocol, hugeLength, greetingAndRandom, truncatedHello, flippedHello, wrongVersion
        case unknownKind, namesFirst, askFirst, oversizeFrame, endlessZeros, forgedHello
    }

    private var dice: SeededGenerator
    /// The number of hellos with a secret that no worker has, which were dropped.
    private(set) var forgeries = 0
    /// What the sockets have sent to strangers, beside the protocol's greeting.
    private(set) var leaks: [String] = []
    /// The kinds that weren't dropped within the time.
    private(set) var tolerated: [Kind: Int] = [:]

    init(seed: UInt64) { dice = SeededGenerator(seed: seed, "hostile connections") }

    /// Makes one connection of each kind to a socket on which links arrive.
    ///
    /// - Parameter isAwaited: Whether each is kept until the other end has closed it; else it's closed here when all has been sent.
    mutating func assail(links path: String, isAwaited: Bool) throws {
        for kind in Kind.allCases {
            let connection = try RawSocket(path, "\(kind)")
            let bytes = bytes(kind)
            connection.send(bytes)
            // A forged hello that leaves before it's read wouldn't count.
            guard isAwaited || kind == .forgedHello, kind != .connectsAndCloses else { continue }
            switch kind {
            // What could be the beginning of a greeting, of a message or of a frame, is dropped at a time-out.
            case .randomBytes where bytes.first == 0, .truncatedHello, .endlessZeros, .flippedHello, .greetingAndRandom: continue
            default: break
            }
            guard let received = connection.receiveAll() else {
                tolerated[kind, default: 0] += 1
                continue
            }
            if received != RawSocket.greeting, !received.isEmpty { leaks.append("\(kind): \(received)") }
            if kind == .forgedHello { forgeries += 1 }
        }
    }

    /// Makes one connection of each kind to the socket of operators.
    mutating func assail(control path: String) throws {
        for kind in Kind.allCases {
            let connection = try RawSocket(path, "\(kind)")
            connection.send(bytes(kind))
        }
    }

    private mutating func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &dice) } }

    private mutating func bytes(_ kind: Kind) -> [UInt8] {
        let message = { (body: [UInt8]) in RawSocket.greeting + RawSocket.message(body) }
        switch kind {
        case .connectsAndCloses: return []
        case .randomBytes: return random(Int.random(in: 1...2_000, using: &dice))
        case .anotherProtocol: return Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        case .hugeLength: return RawSocket.greeting + [1, 0x7F] + random(7)
        case .greetingAndRandom: return RawSocket.greeting + random(Int.random(in: 1...2_000, using: &dice))
        case .truncatedHello:
            let hello = message(Self.batch(.hello(hello())))
            return Array(hello.prefix(Int.random(in: 1..<hello.count, using: &dice)))
        case .flippedHello:
            var hello = Self.batch(.hello(hello()))
            // Not in the secret and behind it: that would be another good hello.
            hello[Int.random(in: 0..<6, using: &dice)] ^= 1 << UInt8.random(in: 0..<8, using: &dice)
            return message(hello)
        case .wrongVersion:
            var hello = Self.batch(.hello(hello()))
            hello[4] = UInt8.random(in: 2...255, using: &dice)
            return message(hello)
        case .unknownKind:
            var hello = Self.batch(.hello(hello()))
            hello[5] = UInt8.random(in: 29...255, using: &dice)
            return message(hello)
        case .namesFirst: return message(Self.batch(.defineName(DefineName(id: 1, text: "/app"))))
        case .askFirst:
            return message(
                Self.batch(.ask(Ask(target: 0, sender: 0, message: 0, timeoutMicroseconds: 0, trace: [], payload: Bytes("{}".utf8))))
            )
        case .oversizeFrame: return RawSocket.greeting + [1, 0, 0, 0, 0, 0, 0x40, 0, 0] + random(1_000)
        case .endlessZeros: return RawSocket.greeting + [1, 0, 0, 0, 0, 0, 0x0F, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 10_000)
        case .forgedHello: return message(Self.batch(.hello(hello())))
        }
    }

    private mutating func hello() -> Hello {
        Hello(secret: random(32), processID: getpid(), processStartTime: 1, buildID: "", maximumFrameSize: 1 << 20)
    }

    private static func batch(_ content: Content) -> [UInt8] {
        var batch: [UInt8] = []
        FrameEncoder.append(Frame(content, correlation: 1), to: &batch)
        return batch
    }
}
