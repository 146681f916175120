/// Values by name, of which the one that was used last is found without hashing.
///
/// Most messages of a sender take the way of the one before.
struct RecentlyUsed<Value> {
    private var places: [String: Int] = [:]
    private var values: [Value?] = []
    private var free: [Int] = []
    /// The name that was used last, and its place.
    private var last: (name: String, place: Int)?

    /// All names, in no order.
    var names: [String] { Array(places.keys) }

    subscript(name: String) -> Value? {
        mutating get { place(of: name).flatMap { values[$0] } }
    }

    /// Changes the value of a name, which is the default if it has none.
    mutating func with<Result>(_ name: String, default value: @autoclosure () -> Value, _ body: (inout Value) -> Result) -> Result {
        let place = place(of: name) ?? add(name)
        if var former = values[place].take() {
            defer { values[place] = former }
            return body(&former)
        }
        var new = value()
        defer { values[place] = new }
        return body(&new)
    }

    /// Changes the value of a name, if it has one.
    mutating func change(_ name: String, _ body: (inout Value) -> Void) {
        guard let place = place(of: name), var value = values[place].take() else { return }
        body(&value)
        values[place] = value
    }

    /// Changes all values.
    mutating func forEach(_ body: (inout Value) -> Void) {
        for name in names { change(name, body) }
    }

    mutating func remove(_ name: String) {
        guard let place = places.removeValue(forKey: name) else { return }
        values[place] = nil
        free.append(place)
        last = nil
    }

    private mutating func place(of name: String) -> Int? {
        if let last, last.name == name { return last.place }
        guard let place = places[name] else { return nil }
        last = (name, place)
        return place
    }

    private mutating func add(_ name: String) -> Int {
        let place = free.popLast() ?? values.count
        if place == values.count { values.append(nil) }
        places[name] = place
        last = (name, place)
        return place
    }
}

extension RecentlyUsed: Sendable where Value: Sendable {}
