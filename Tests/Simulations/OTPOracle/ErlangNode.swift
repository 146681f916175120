import Glibc
import Processes

/// An Erlang virtual machine that carries out scenarios on OTP's supervisor.
///
/// Needs Debian's `erlang-base`.
package final class ErlangNode: Sendable {
    /// A failure to run it, with what to do next.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let child: ChildProcess
    private let input: Int32
    private let output: Int32

    /// Runs one as long as the body.
    package static func run(_ body: (ErlangNode) async throws -> Void) async throws {
        var template = Array("/tmp/otp-oracle-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(description: "no temporary directory: \(String(cString: strerror(errno)))") }
        let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer {
            unlink("\(directory)/otp_oracle.beam")
            rmdir(directory)
        }
        let node = try await start(in: directory)
        do {
            try await body(node)
        } catch {
            await node.stop()
            throw error
        }
        await node.stop()
    }

    /// Starts one.
    ///
    /// - Parameter directory: An existing directory for the compiled program.
    private static func start(in directory: String) async throws -> ErlangNode {
        let source = String(#filePath.prefix(through: #filePath.lastIndex(of: "/") ?? #filePath.startIndex)) + "otp_oracle.erl"
        let compiler = try await spawn("erlc", ["-Werror", "-o", directory, source])
        let status = await compiler.waitForExit()
        guard status == .exited(code: 0) else { throw Failure(description: "erlc \(source): \(status)") }

        let (input, output) = (try pipe(), try pipe())
        defer {
            close(input.reading)
            close(output.writing)
        }
        // In embedded mode nothing is loaded later, for which a process would wait for one of a lower priority.
        let start = ["-mode", "embedded", "-pa", directory, "-eval", "{module, _} = code:load_file(otp_oracle), otp_oracle:run()."]
        let options = ["-noshell", "-noinput", "+S", "1:1"] + start
        let child = try await spawn("erl", options, input: .descriptor(input.reading), output: .descriptor(output.writing))
        return ErlangNode(child, input: input.writing, output: output.reading)
    }

    private init(_ child: ChildProcess, input: Int32, output: Int32) {
        self.child = child
        self.input = input
        self.output = output
    }

    deinit {
        close(input)
        close(output)
    }

    /// Ends it.
    package func stop() async { _ = await child.terminate(grace: .zero) }

    /// Sends a script and returns the lines of the answer; blocks its thread until then.
    package func answer(to script: [String]) throws -> [String] {
        try send(script.joined(separator: "\n") + "\n")
        var bytes: [UInt8] = []
        repeat {
            try receive(&bytes)
        } while !(bytes.count == 2 ? bytes == Array(".\n".utf8) : bytes.suffix(3) == Array("\n.\n".utf8)[...])
        return String(decoding: bytes.dropLast(3), as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    private func send(_ text: String) throws {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Failure(description: "the Erlang program has ended: \(String(cString: strerror(errno)))") }
            bytes = bytes.dropFirst(count)
        }
    }

    private func receive(_ bytes: inout [UInt8]) throws {
        var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        let events = poll(&waiting, 1, 60_000)
        if events < 0, errno == EINTR { return }
        guard events > 0 else { throw Failure(description: "the Erlang program hasn't answered for a minute") }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = read(output, &buffer, buffer.count)
        if count < 0, errno == EINTR { return }
        guard count > 0 else { throw Failure(description: "the Erlang program has ended before it had answered") }
        bytes += buffer[..<count]
    }

    private static func spawn(
        _ program: String,
        _ arguments: [String],
        input: InputSource = .null,
        output: OutputDestination = .inherit
    ) async throws -> ChildProcess {
        let specification = ProcessSpecification(
            executable: program,
            arguments: arguments,
            standardInput: input,
            standardOutput: output,
            diesWithParent: true
        )
        do {
            return try await ProcessSpawner.shared.spawn(specification)
        } catch {
            throw Failure(description: "\(program) can't be started: \(error). Install Debian's erlang-base.")
        }
    }

    // A child gets only the descriptors that it is given, so these need no flag.
    private static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw Failure(description: "no pipe: \(String(cString: strerror(errno)))") }
        return (ends[0], ends[1])
    }
}
