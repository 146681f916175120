import ConcurrencySupport
import Glibc
import TestSupport
import Testing

@testable import CoordinatorsCluster

/// Requests by libcurl, at peers that answer, don't, or break off.
@Suite struct TransferTests {
    private let pool: TransferPool

    init() throws { pool = try TransferPool(nil) }

    private func begin(
        _ peer: ScriptedPeer,
        scheme: String = "http",
        headers: [String] = [],
        body: String = "{}",
        isStream: Bool = false
    ) throws -> Transfer {
        let request = Transfer.Request(
            address: "\(scheme)://127.0.0.1:\(peer.port)/v3/call",
            headers: headers,
            body: Array(body.utf8),
            connectLimit: .seconds(5),
            isStream: isStream
        )
        return try pool.startTransfer(request)
    }

    private func text(_ transfer: Transfer) async throws -> String {
        String(decoding: try await transfer.collect(upTo: 1 << 20), as: UTF8.self)
    }

    private func failure(_ transfer: Transfer, limit: Int = 1 << 20) async throws -> TransferError {
        do {
            let answer = try await transfer.collect(upTo: limit)
            Issue.record("nothing failed: \(answer.count) bytes")
            throw CancellationError()
        } catch let error as TransferError {
            return error
        }
    }

    @Test func aRequestSaysWhatItWasToldAndNoMore() async throws {
        let seen = OneShot<String>()
        let peer = try ScriptedPeer { connection in
            seen.settle(connection.request() ?? "")
            connection.answer("fine", status: "404 Not Found")
        }
        let body = String(repeating: "x", count: 1_100_000)
        let transfer = try begin(peer, headers: ["Content-Type: application/json", "Authorization: token"], body: body)
        #expect(try await text(transfer) == "fine")
        #expect(transfer.status == 404)
        let request = await seen.value
        let lines = request.split(separator: "\r\n")
        #expect(lines.first == "POST /v3/call HTTP/1.1")
        #expect(
            Set(lines.dropFirst().dropLast().map(String.init)) == [
                "Host: 127.0.0.1:\(peer.port)", "Accept: */*", "Content-Type: application/json", "Authorization: token",
                "Content-Length: \(body.utf8.count)",
            ]
        )
        #expect(lines.last?.utf8.count == body.utf8.count)
    }

    @Test func aConnectionIsUsedAgain() async throws {
        let peer = try ScriptedPeer { connection in
            while let request = connection.request() { connection.answer(String(request.suffix(3))) }
        }
        for number in 100..<110 { #expect(try await text(begin(peer, body: "\(number)")) == "\(number)") }
        #expect(peer.connectionCount == 1)
    }

    /// libcurl would repeat it on a new connection; the peer may have carried it out.
    @Test func aRequestOnAConnectionThatClosesIsNotRepeated() async throws {
        let requests = Lock(0)
        let peer = try ScriptedPeer { connection in
            while connection.request() != nil {
                let count = requests.withLock { count in
                    count += 1
                    return count
                }
                guard count == 1 else { return }
                connection.answer("first")
            }
        }
        #expect(try await text(begin(peer)) == "first")
        let error = try await failure(begin(peer))
        #expect(error.mayHaveBeenSent)
        #expect(requests.withLock { $0 } == 2, "\(error)")
    }

    /// How a peer ends a connection, and whether it may have got the request by then.
    enum End: CaseIterable {
        case noListener, afterTheRequest, inTheHead, inTheBody, inAChunk, noHTTP, redirection, noTLS

        var mayHaveBeenSent: Bool { self != .noListener && self != .noTLS }
    }

    @Test(arguments: End.allCases) func anEndSaysWhetherTheRequestMayHaveArrived(_ end: End) async throws {
        let target = try ScriptedPeer { connection in
            _ = connection.request()
            connection.answer("elsewhere")
        }
        let targetPort = target.port
        let peer = try ScriptedPeer { connection in
            if end != .noTLS { _ = connection.request() }
            switch end {
            case .noListener, .afterTheRequest: break
            case .inTheHead: connection.send("HTTP/1.1 200 OK\r\nContent-")
            case .inTheBody: connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
            case .inAChunk: connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\n12345")
            case .noHTTP: connection.send("SSH-2.0-OpenSSH_9.2\r\n")
            case .redirection:
                connection.send(
                    "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:\(targetPort)/\r\nContent-Length: 0\r\n\r\n"
                )
            case .noTLS: connection.answer("400", status: "400 Bad Request")
            }
        }
        if end == .redirection {
            let transfer = try begin(peer)
            #expect(try await text(transfer).isEmpty)
            #expect(transfer.status == 307)
            #expect(target.connectionCount == 0)
            return
        }
        let held = try HeldPorts(1)
        let transfer =
            if end == .noListener {
                try pool.startTransfer(
                    Transfer.Request(
                        address: "http://127.0.0.1:\(held.numbers[0])/",
                        headers: [],
                        body: [1],
                        connectLimit: .seconds(5),
                        isStream: false
                    )
                )
            } else {
                try begin(peer, scheme: end == .noTLS ? "https" : "http")
            }
        let error = try await failure(transfer)
        #expect(error.mayHaveBeenSent == end.mayHaveBeenSent, "\(error)")
        #expect(!error.description.isEmpty)
        if case .unreachable = EtcdFault(error) { #expect(!end.mayHaveBeenSent) } else { #expect(end.mayHaveBeenSent) }
    }

    @Test func aPeerThatDoesNotShakeHandsIsUnreachable() async throws {
        let peer = try ScriptedPeer { $0.waitForEnd() }
        let request = Transfer.Request(
            address: "https://127.0.0.1:\(peer.port)/",
            headers: [],
            body: [1],
            connectLimit: .milliseconds(200),
            isStream: false
        )
        let error = try await failure(pool.startTransfer(request))
        #expect(!error.mayHaveBeenSent, "\(error)")
    }

    @Test func anAnswerThatIsTooLargeIsGivenUp() async throws {
        let peer = try ScriptedPeer { connection in
            _ = connection.request()
            connection.beginAnswer()
            while connection.send(chunk: [UInt8](repeating: 7, count: 1000)) {}
        }
        let error = try await failure(begin(peer), limit: 100_000)
        #expect(error.mayHaveBeenSent)
        try await eventually("the connection is closed") { peer.endedCount == 1 }
    }

    @Test func aSlowReaderStopsThePeer() async throws {
        let total = 64 << 20
        let sent = Lock(0)
        let peer = try ScriptedPeer { connection in
            _ = connection.request()
            connection.beginAnswer()
            var number: UInt8 = 0
            while sent.withLock({ $0 }) < total {
                connection.send(chunk: [UInt8](repeating: number, count: 1 << 16))
                sent.withLock { $0 += 1 << 16 }
                number &+= 1
            }
            connection.send("0\r\n\r\n")
        }
        let transfer = try begin(peer, isStream: true)
        var bytes = try #require(try await transfer.next())
        // The peer stops when the transfer and the kernel's buffers are full: what it has sent doesn't change any more then.
        var last = (sent: 0, looks: 0)
        try await eventually("the peer is stopped") {
            let now = sent.withLock { $0 }
            last = now == last.sent ? (now, last.looks + 1) : (now, 0)
            return last.looks == 10
        }
        #expect(last.sent < total / 2)
        // Another transfer of the thread isn't held up by that.
        let other = try ScriptedPeer { connection in
            _ = connection.request()
            connection.answer("other")
        }
        #expect(try await text(begin(other)) == "other")
        var count = 0
        repeat {
            // Each 61st byte: the peer's change every 65,536.
            for index in stride(from: 0, to: bytes.count, by: 61) where bytes[index] != UInt8(truncatingIfNeeded: (count + index) >> 16) {
                Issue.record("byte \(count + index) is \(bytes[index])")
                return
            }
            count += bytes.count
            bytes = try await transfer.next() ?? []
        } while !bytes.isEmpty
        #expect(count == total)
    }

    @Test func aCancelledReaderEndsItsConnection() async throws {
        let peer = try ScriptedPeer { connection in
            _ = connection.request()
            connection.waitForEnd()
        }
        let transfer = try begin(peer)
        let reading = Task { try await transfer.next() }
        try await eventually("the peer is asked") { peer.connectionCount == 1 }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        try await eventually("the connection is closed") { peer.endedCount == 1 }
    }

    @Test func linesThatAreLetGoEndTheirConnection() async throws {
        let peer = try ScriptedPeer { connection in
            _ = connection.request()
            connection.beginAnswer()
            connection.send(chunk: Array("one\ntw".utf8))
            connection.send(chunk: Array("o\n\nfour".utf8))
            connection.waitForEnd()
        }
        do {
            let lines = EtcdLines(try begin(peer, isStream: true))
            try await lines.awaitFirst()
            for expected in ["one", "two", ""] {
                #expect(try await lines.next().map { String(decoding: $0, as: UTF8.self) } == expected)
            }
            #expect(peer.endedCount == 0)
        }
        try await eventually("the connection is closed") { peer.endedCount == 1 }
    }

    @Test func theEndOfThePoolEndsWhatIsUnderWay() async throws {
        let peer = try ScriptedPeer { connection in
            _ = connection.request()
            connection.waitForEnd()
        }
        // Some of them wait for a connection.
        let transfers = try (0..<20).map { number in try begin(peer, isStream: number == 0) }
        try await eventually("the peer is asked") { peer.connectionCount == 9 }
        await pool.close()
        for transfer in transfers { await #expect(throws: CancellationError.self) { try await transfer.next() } }
        try await eventually("the connections are closed") { peer.endedCount == 9 }
        #expect(throws: TransferError.self) { try begin(peer) }
        await pool.close()
    }

    @Test func requestsShareEightConnections() async throws {
        let isOpen = Semaphore()
        let peer = try ScriptedPeer { connection in
            while connection.request() != nil {
                isOpen.wait()
                connection.answer("done")
            }
        }
        let transfers = try (0..<30).map { _ in try begin(peer) }
        try await eventually("as many are asked as may be") { peer.connectionCount == 8 }
        // One that is given up while it waits doesn't leave a gap.
        transfers[25].end()
        for _ in transfers { isOpen.post() }
        for (number, transfer) in transfers.enumerated() where number != 25 { #expect(try await text(transfer) == "done") }
        #expect(peer.connectionCount == 8)
        for _ in 0..<8 { isOpen.post() }
    }
}
