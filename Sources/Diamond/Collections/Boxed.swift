/// A large value that few owners have: one word where there is none, and memory of its own where there is one.
indirect enum Boxed<Value> {
    case none
    case some(Value)

    init(_ value: Value?) { self = value.map(Boxed.some) ?? .none }

    var value: Value? {
        if case .some(let value) = self { value } else { nil }
    }
}

extension Boxed: Sendable where Value: Sendable {}
extension Boxed: Equatable where Value: Equatable {}
extension Boxed: Hashable where Value: Hashable {}
