/// An optional for a large value that is rarely present. It is one word, and a value is stored on the heap.
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
