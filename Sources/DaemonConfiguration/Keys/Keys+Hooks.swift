import Glibc
import Processes
import WireProtocol

extension Keys {
    static let hooks = Table("hooks", ProgramHooks()) {
        Key("before_start", .hook, \.beforeStart, default: "none").or("pre_start", "prestart", "start_pre", "exec_start_pre")
            .says("The command before each start. If it fails, or isn't done in time, so has the start.")
        Key("after_end", .hook, \.afterEnd, default: "none").or("post_stop", "poststop", "stop_post", "finish", "exec_stop_post")
            .says(
                """
                The command after each end of the program, whatever its reason, when nothing is left of the program; the next life begins \
                after it.
                """
            )
        Key("on_give_up", .hook, \.onGiveUp, default: "none").or("on_failure", "fail", "exec_on_failure")
            .says("The command when the program has exceeded its limits of restarts, and is given up.")
        Key("stop", .hook, \.stop, default: "the `stop_signal`").or("stop_command", "shutdown", "exec_stop")
            .says(
                """
                The command that asks the program to stop, instead of the signal. If it fails, or the program still runs when its time is \
                over, the program gets the signal, and is killed when the `stop_timeout` is over.
                """
            )
        Key("reload", .reload, \.reload, default: "none").or("reload_signal", "reload_command", "exec_reload")
            .says("What `coordinatorctl reload` does: a command, or the name of a signal that the program gets, such as `HUP`.")
    }

    static let hook = Table("hook", ProgramHooks.Command([])) {
        Key("command", .command("a list of a program and its arguments"), \.command).or("cmd", "exec")
            .required("a list of a program and its arguments")
            .says("The command, a list; it runs as the program does. No shell is involved.")
        Key("timeout", .positive(), \.timeout, default: "`30s`; of `stop` also at most half of the time that the program has to stop")
            .says("The time within which the command must end; it's killed with its group then.")
    }
}

extension Value<ProgramHooks.Command> {
    /// A command, or a mapping with it and its time.
    static var hook: Value {
        let (command, table) = (Value<[String]>.command("a list of a program and its arguments"), Value.table(Keys.hook))
        let show: @Sendable (ProgramHooks.Command) -> String = { $0.timeout == nil ? command.show($0.command) : table.show($0) }
        var value = Value(["anyOf": [command.schema, table.schema]], show: show) { reader, node, name in
            if case .mapping = node.content { return table.read(&reader, node, name) }
            return command.read(&reader, node, name).map { ProgramHooks.Command($0) }
        }
        value.table = table.table
        value.changingTexts = { hook, change in
            var hook = hook
            hook.command = hook.command.map(change)
            return hook
        }
        return value
    }
}

extension Value<ProgramHooks.Reload> {
    static var reload: Value {
        let (signal, hook) = (Value<Signal>.stopSignal, Value<ProgramHooks.Command>.hook)
        let show: @Sendable (ProgramHooks.Reload) -> String = { reload in
            switch reload {
            case .signal(let name): signal.show(name)
            case .command(let command): hook.show(command)
            }
        }
        var value = Value(["anyOf": [signal.schema, hook.schema]], show: show) { reader, node, name in
            if node.text != nil { return signal.read(&reader, node, name).map { .signal($0) } }
            return hook.read(&reader, node, name).map { .command($0) }
        }
        value.table = hook.table
        value.changingTexts = { reload, change in
            if case .command(let command) = reload { .command(hook.changingTexts(command, change)) } else { reload }
        }
        return value
    }
}

extension ConfigurationReader {
    /// Reports executables of hooks that aren't there, or may not be run.
    mutating func checkHooks(_ hooks: YAMLNode?, of program: ConfiguredProgram) {
        // Without PATH execvp(3) looks there.
        let searchPath = program.environment["PATH"] ?? getenv("PATH").map { String(cString: $0) } ?? "/bin:/usr/bin"
        for moment in ProgramHooks.Moment.allCases {
            guard let hook = hooks?[moment.rawValue], case .sequence(let nodes) = (hook["command"] ?? hook).content else { continue }
            guard let node = nodes.first, let name = node.text else { continue }
            checkExecutable(name, searchPath: searchPath, directory: program.directory, at: node)
        }
    }
}
