import WireProtocol

/// What a change of a key does to a daemon that runs.
public enum ChangeEffect: String, Hashable, Sendable {
    /// The daemon takes the change over, and the child's process goes on.
    case live
    /// The child's process ends, and another one begins with the change.
    case restart
    /// The running daemon goes on as it did; the next one begins with the change, and so does the one of an upgrade.
    case nextDaemon
}

/// A key that has another value in another configuration.
public struct KeyDifference: Hashable, Sendable {
    /// The key, after those of the mappings around it, with a period between two.
    public var key: String
    /// The value as the file has it, where secrets are hidden; nil: there was none.
    public var former: String?
    /// The value that follows; nil: there is none.
    public var next: String?
    /// What the change does.
    public var effect: ChangeEffect
}

/// The place of a mapping, and what a change in it does unless a key says otherwise.
struct KeyPlace {
    let path: String
    let effect: ChangeEffect

    func inside(_ name: String, _ effect: ChangeEffect? = nil) -> KeyPlace {
        KeyPlace(path: path.isEmpty ? name : "\(path).\(name)", effect: effect ?? self.effect)
    }

    /// The difference at the place, if there is one.
    func difference(_ former: String?, _ next: String?) -> [KeyDifference] {
        // A long value has its beginning shown: thousands of children may differ in it.
        func shown(_ value: String?) -> String? { value.map { $0.utf8.count <= 512 ? $0 : "\($0.prefix(200))…" } }
        return [KeyDifference(key: path, former: shown(former), next: shown(next), effect: effect)]
    }
}

/// What is said of a key, whatever the type of its value.
struct KeyDescription: Sendable {
    let name: String
    /// The names that other programs have for the same, which lead to a suggestion.
    var others: [String] = []
    /// What the key was called before: that name is an error, which tells the present one.
    var former: [String] = []
    /// One paragraph, in Markdown.
    var documentation = ""
    /// What is missing when a key isn't there that has to be; nil: it may be left out.
    var required: String?
    /// What a change does; nil: what one of the mapping around it does.
    let effect: ChangeEffect?
    /// What a JSON schema says of the value.
    let schema: JSONValue
    /// The mapping that the value is, or has in it.
    let table: (@Sendable () -> any KeyTable)?
}

/// A key of a mapping: it's read, compared, shown, suggested and documented by its declaration alone.
///
/// A key fills a property, so that none can be declared that nothing reads. Its default is what the property has by itself; that of a property
/// that has no value then is said in words.
///
/// A file is read seldom, and there are some sixty types of values: the code of keys, tables and values is there once, and not once for each
/// type, which would be as much again as the whole reader. That's what `_semantics` says here.
struct Key<Subject: Hashable & Sendable>: Sendable {
    private(set) var description: KeyDescription
    /// The default in the words of the reference, where its value isn't one.
    private let words: String?
    private(set) var read: @Sendable (inout ConfigurationReader, YAMLNode, inout Subject) -> Void
    let differences: @Sendable (Subject, Subject, KeyPlace) -> [KeyDifference]
    /// Gives the second value what the first one has of the key.
    let copy: @Sendable (Subject, inout Subject) -> Void
    /// Changes the texts of the value.
    let changeTexts: @Sendable (inout Subject, (String) -> String) -> Void
    /// The value as the file has it; nil: there is none.
    let shown: @Sendable (Subject) -> String?
    /// Whether the key is read after the others, on which the meaning of its value depends.
    private(set) var isLate = false

    @_semantics("optimize.sil.specialize.generic.never")
    init<Content>(
        _ name: String,
        _ value: Value<Content>,
        _ path: any WritableKeyPath<Subject, Content> & Sendable,
        default words: String? = nil,
        effect: ChangeEffect? = nil
    ) {
        description = KeyDescription(name: name, effect: effect, schema: value.schema, table: value.table)
        self.words = words
        read = { reader, node, subject in
            if let content = value.read(&reader, node, "`\(name)`") { subject[keyPath: path] = content }
        }
        differences = { value.differences($0[keyPath: path], $1[keyPath: path], $2.inside(name, effect)) }
        copy = { $1[keyPath: path] = $0[keyPath: path] }
        changeTexts = { $0[keyPath: path] = value.changingTexts($0[keyPath: path], $1) }
        shown = { value.show($0[keyPath: path]) }
    }

    @_semantics("optimize.sil.specialize.generic.never")
    init<Content>(
        _ name: String,
        _ value: Value<Content>,
        _ path: any WritableKeyPath<Subject, Content?> & Sendable,
        default words: String,
        effect: ChangeEffect? = nil
    ) {
        description = KeyDescription(name: name, effect: effect, schema: value.schema, table: value.table)
        self.words = words
        read = { reader, node, subject in
            if let content = value.read(&reader, node, "`\(name)`") { subject[keyPath: path] = content }
        }
        differences = { former, next, place in
            let place = place.inside(name, effect)
            switch (former[keyPath: path], next[keyPath: path]) {
            case (nil, nil): return []
            case (let former?, let next?): return value.differences(former, next, place)
            case (let former, let next): return place.difference(former.map(value.show), next.map(value.show))
            }
        }
        copy = { $1[keyPath: path] = $0[keyPath: path] }
        changeTexts = { subject, change in
            if let content = subject[keyPath: path] { subject[keyPath: path] = value.changingTexts(content, change) }
        }
        shown = { $0[keyPath: path].map(value.show) }
    }

    /// Returns the default in the words of the reference.
    @_semantics("optimize.sil.specialize.generic.never")
    func fallback(_ blank: Subject) -> String { words ?? (description.required == nil ? "`\(shown(blank) ?? "")`" : "required") }
}

extension Key {
    /// Returns the same key, which is suggested to those who write one of these names, as other programs have it.
    @_semantics("optimize.sil.specialize.generic.never")
    func or(_ others: String...) -> Key {
        var key = self
        key.description.others = others
        return key
    }

    /// Returns the same key, which was called so before.
    @_semantics("optimize.sil.specialize.generic.never")
    func formerly(_ former: String...) -> Key {
        var key = self
        key.description.former = former
        return key
    }

    /// Returns the same key, which has to be there; the text says what is missing otherwise.
    @_semantics("optimize.sil.specialize.generic.never")
    func required(_ expected: String) -> Key {
        var key = self
        key.description.required = expected
        return key
    }

    /// Returns the same key with its documentation, without which none is in a table: one paragraph in Markdown.
    @_semantics("optimize.sil.specialize.generic.never")
    func says(_ documentation: String) -> DeclaredKey<Subject> {
        var key = self
        key.description.documentation = documentation
        return DeclaredKey(key: key)
    }

    /// Returns the same key, whose value is read after those of the others, in a scope that these make.
    @_semantics("optimize.sil.specialize.generic.never")
    func inScope(_ change: @escaping @Sendable (Subject, inout ConfigurationReader.Scope) -> Void) -> Key {
        var key = self
        key.isLate = true
        key.read = { [read] reader, node, subject in
            let outer = reader.scope
            change(subject, &reader.scope)
            read(&reader, node, &subject)
            reader.scope = outer
        }
        return key
    }
}

/// A key with its documentation.
struct DeclaredKey<Subject: Hashable & Sendable> {
    fileprivate let key: Key<Subject>
}

/// The list of the keys of a mapping, of which each is type-checked by itself.
@resultBuilder
enum KeyList<Subject: Hashable & Sendable> {
    @_semantics("optimize.sil.specialize.generic.never")
    static func buildExpression(_ declared: DeclaredKey<Subject>) -> [Key<Subject>] { [declared.key] }
    @_semantics("optimize.sil.specialize.generic.never")
    static func buildExpression(_ keys: [Key<Subject>]) -> [Key<Subject>] { keys }
    @_semantics("optimize.sil.specialize.generic.never")
    static func buildBlock(_ keys: [Key<Subject>]...) -> [Key<Subject>] { keys.flatMap(\.self) }
}
