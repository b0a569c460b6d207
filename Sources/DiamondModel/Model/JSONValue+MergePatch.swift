import Diamond

extension JSONValue {
    /// Returns the JSON Merge Patch (RFC 7396) that changes this value into another one. `null` removes a member.
    func mergePatch(to new: JSONValue) -> JSONValue {
        guard case .object(let old) = self, case .object(let members) = new else { return new }
        var patch: [String: JSONValue] = [:]
        for (name, value) in members {
            let before = old.value(named: name)
            if before != value { patch.set(before?.mergePatch(to: value) ?? value, named: name) }
        }
        for name in old.keys where members.value(named: name) == nil { patch.set(.null, named: name) }
        return .object(patch)
    }

    /// Returns whether the members that both objects have are equal, at any depth.
    func agrees(with other: JSONValue) -> Bool {
        switch (self, other) {
        case (.object(let own), .object(let others)):
            own.allSatisfy { name, value in others.value(named: name).map(value.agrees) ?? true }
        case (.array(let own), .array(let others)):
            own.count == others.count && zip(own, others).allSatisfy { $0.agrees(with: $1) }
        default: self == other
        }
    }
}
