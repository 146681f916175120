import ArgumentParser
import ConcurrencySupport
import Control
import Glibc
import WireProtocol

/// The command `send PATH NAME [JSON]`.
struct SendCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Send.self,
        discussion: "Exits with 1 when no coordinator between the path and the root responds to the message."
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Argument(help: .path, completion: .livePaths) var path: String
    @Argument(help: "The message's name, such as Cart.Toggle.") var name: String
    @Argument(help: MessageArgument.help) var json: String?

    func operation() throws(ControlError) -> ControlOperation {
        .send(path: path, message: name, payload: try MessageArgument.payload(json))
    }

    func text(of answer: SendResult) -> String {
        answer.delivered ? "delivered\n" : ""
    }

    func complaint(about answer: SendResult) -> String? {
        answer.delivered ? nil : "not delivered: no coordinator from \(path) up responds to \(name)"
    }

    func exitCode(of answer: SendResult) -> Int32 {
        answer.delivered ? 0 : ControlError.Code.unhandled.exitCode
    }
}

/// A message as JSON in the arguments of a command.
enum MessageArgument {
    static let help = ArgumentHelp(
        "The message as JSON; {} by default. @FILE reads it from a file, - from standard input; other users can see arguments."
    )

    static func payload(_ text: String?) throws(ControlError) -> JSONValue {
        guard let text else { return .object([:]) }
        if text == "-" { return try parse(try contents(of: STDIN_FILENO, "standard input"), hint: "") }
        if text.hasPrefix("@") { return try payload(ofFile: String(text.dropFirst())) }
        return try parse(Array(text.utf8), hint: "; put it in single quotes so that the shell leaves it alone")
    }

    private static func payload(ofFile path: String) throws(ControlError) -> JSONValue {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ControlError(.invalidRequest, "can't open \(path): \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        return try parse(try contents(of: descriptor, path), hint: "")
    }

    private static func parse(_ bytes: [UInt8], hint: String) throws(ControlError) -> JSONValue {
        do {
            return try ControlJSON.parse(bytes)
        } catch {
            throw ControlError(error.code, "the message is \(error.message)\(hint)")
        }
    }

    private static func contents(of descriptor: Int32, _ name: String) throws(ControlError) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count == 0 { return bytes }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw ControlError(.invalidRequest, "can't read \(name): \(String(cString: strerror(errno)))") }
            bytes += buffer[..<count]
            guard bytes.count <= ControlServer.maximumRequestSize else {
                throw ControlError(
                    .invalidRequest,
                    "\(name) has more than \(ControlServer.maximumRequestSize) bytes; a message has at most that"
                )
            }
        }
    }
}

/// A time-out in the arguments of a command.
struct TimeoutArgument: ExpressibleByArgument, CustomStringConvertible {
    let duration: Duration

    init(duration: Duration) {
        self.duration = duration
    }

    init?(argument: String) {
        guard let duration = Duration(configurationText: argument), (.milliseconds(1) ... .seconds(3600)).contains(duration) else {
            return nil
        }
        self.duration = duration
    }

    var defaultValueDescription: String { description }
    var description: String { duration.configurationText }
}
