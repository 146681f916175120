import CNNG
import NNG
import TestSupport

/// A real SP pair0 socket of nng, to check the framing against.
final class PairSocket: Sendable {
    private let socket: nng_socket

    init() throws {
        var socket = nng_socket()
        try Self.check(nng_pair0_open(&socket), "open")
        self.socket = socket
        for option in [NNG_OPT_RECVTIMEO, NNG_OPT_SENDTIMEO] {
            try Self.check(nng_socket_set_ms(socket, option, 10_000), "set")
        }
    }

    deinit {
        // In nng 1.5.2 this may wait for the socket's pipes, or for ever (nanomsg/nng#1543, #1813).
        let socket = socket
        Task { try await blocking { _ = nng_close(socket) } }
    }

    func listen(_ url: String) throws {
        try Self.check(nng_listen(socket, url, nil, 0), "listen")
    }

    func dial(_ url: String) throws {
        // Without waiting: the greeting is answered by the same thread.
        try Self.check(nng_dial(socket, url, nil, Int32(NNG_FLAG_NONBLOCK)), "dial")
    }

    func send(_ body: [UInt8]) async throws {
        try await blocking {
            let result = body.withUnsafeBytes { nng_send(self.socket, UnsafeMutableRawPointer(mutating: $0.baseAddress), $0.count, 0) }
            try Self.check(result, "send")
        }
    }

    func receive() async throws -> [UInt8] {
        try await blocking {
            var message: OpaquePointer?
            try Self.check(nng_recvmsg(self.socket, &message, 0), "receive")
            defer { nng_msg_free(message) }
            return Array(UnsafeRawBufferPointer(start: nng_msg_body(message), count: nng_msg_len(message)))
        }
    }

    private static func check(_ result: Int32, _ operation: String) throws {
        if result != 0 { throw NNGError(.init(rawValue: result), operation: "pair0 \(operation)") }
    }
}
