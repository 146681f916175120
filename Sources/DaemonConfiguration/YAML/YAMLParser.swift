import CYAML

/// libyaml's parser of one text, as a sequence of events.
///
/// https://pyyaml.org/wiki/LibYAML
struct YAMLParser: ~Copyable {
    /// What begins in the text.
    struct Event {
        enum Kind {
            case stream
            case document
            case sequence
            case mapping
            case scalar(String, isPlain: Bool)
            case alias
        }

        let kind: Kind
        /// The name after `&`, or after `*` for an alias.
        var anchor: String?
        /// The tag with its handle replaced.
        var tag: String?
        let mark: Mark
    }

    // On the heap, because the parser has pointers into itself.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let file: String
    private let isIncluded: Bool

    /// Creates a parser that reads from `text`, which must outlive it.
    init(_ text: UnsafeBufferPointer<UInt8>, file: String, isIncluded: Bool) {
        (self.file, self.isIncluded) = (file, isIncluded)
        parser = .allocate(capacity: 1)
        precondition(yaml_parser_initialize(parser) == 1, "there is no memory for a parser")
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, text.baseAddress, text.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
    }

    /// Returns what begins next; nil when a list, a mapping, the document or the stream ends instead.
    mutating func next() throws(ConfigurationError) -> Event? {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw error }
        defer { yaml_event_delete(&event) }
        var mark = Mark(event.start_mark)
        if isIncluded { mark.file = file }
        switch event.type {
        case YAML_STREAM_START_EVENT: return Event(kind: .stream, mark: mark)
        case YAML_DOCUMENT_START_EVENT: return Event(kind: .document, mark: mark)
        case YAML_ALIAS_EVENT: return Event(kind: .alias, anchor: String(event.data.alias.anchor), mark: mark)
        case YAML_SEQUENCE_START_EVENT:
            let start = event.data.sequence_start
            return Event(kind: .sequence, anchor: String(start.anchor), tag: String(start.tag), mark: mark)
        case YAML_MAPPING_START_EVENT:
            let start = event.data.mapping_start
            return Event(kind: .mapping, anchor: String(start.anchor), tag: String(start.tag), mark: mark)
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            // The text may contain NUL.
            let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
            let kind = Event.Kind.scalar(text, isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE)
            return Event(kind: kind, anchor: String(scalar.anchor), tag: String(scalar.tag), mark: mark)
        default: return nil
        }
    }

    /// The error that libyaml describes.
    private var error: ConfigurationError {
        let parser = parser.pointee
        var problem = parser.problem.map { String(cString: $0) } ?? "there is no memory for it"
        if let context = parser.context {
            let start = Mark(parser.context_mark)
            problem += " \(String(cString: context)) that begins at line \(start.line), column \(start.column)"
        }
        return Mark(parser.problem_mark)
            .error("not valid YAML: \(problem); expected YAML 1.2 (look at indentation, quotes and brackets)", file: file)
    }
}

extension Mark {
    /// libyaml counts from 0.
    fileprivate init(_ mark: yaml_mark_t) {
        self.init(line: mark.line + 1, column: mark.column + 1)
    }
}

extension String {
    fileprivate init?(_ text: UnsafeMutablePointer<yaml_char_t>?) {
        guard let text else { return nil }
        self.init(cString: text)
    }
}
