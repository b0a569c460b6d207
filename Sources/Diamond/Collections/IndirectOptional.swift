/// A large value that few owners have: one word where there is none, and memory of its own where there is one.
indirect enum IndirectOptional<Value> {
    case none
    case some(Value)

    init(_ value: Value?) { self = value.map(IndirectOptional.some) ?? .none }

    var value: Value? {
        if case .some(let value) = self { value } else { nil }
    }
}

extension IndirectOptional: Sendable where Value: Sendable {}
extension IndirectOptional: Equatable where Value: Equatable {}
extension IndirectOptional: Hashable where Value: Hashable {}
