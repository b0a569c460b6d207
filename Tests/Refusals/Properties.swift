// Declarations that must not compile, each with its error; scripts/refusals compiles them.

import DiamondModel
import Foundation

final class Sample: Model {
    var box = Box()
    var text = NSMutableString(string: "")
    var mixed = Mixed()
    var frozen = Frozen()
    var motto: String?
    var closed: Date?
    var mayor: Person?
    var citizens: [Person] = []
    var numbers: [Int?] = []
    var kind = Kind.small
    var kinds: [Kind] = []
    var other: Kind?
    var shape = Shape.square
    var point = Point()
    var point2: Point?

    static let box1 = Property(\Sample.box, "box")  // error: an object can change unnoticed: use a value, a Model
    static let box2 = Property(\Sample.box, "box", codec: codec())  // error: not conform to the 'Sendable'
    static let text = Property(\Sample.text, "text", rules: [.required])  // error: an object can change unnoticed
    static let mixed = Property(\Sample.mixed, "m", codec: codec())  // error: not conform to the 'Sendable'
    static let frozen = Property(\Sample.frozen, "frozen", codec: codec())
    static let motto1 = Property(\Sample.motto, "motto", or: "m")  // error: give the property a default that is not nil
    static let motto2 = Property(nullable: \Sample.motto, "motto", or: "m", rules: [.required])
    static let closed1 = Property(\Sample.closed, "closed", codec: .iso8601)  // error: or write Property(nullable:)
    static let closed2 = Property(nullable: \Sample.closed, "closed", codec: .iso8601)
    static let mayor1 = Property(\Sample.mayor, "mayor")  // error: give the property a default that is not nil
    static let mayor2 = Property(nullable: \Sample.mayor, "mayor")
    static let citizens = Property(\Sample.citizens, "citizens")  // error: an array of models is a ModelCollection
    static let numbers = Property(\Sample.numbers, "numbers")  // error: the type has no form in JSON
    static let kind = Property(\Sample.kind, "kind", or: "k")
    static let kinds = Property(\Sample.kinds, "kinds")
    static let other1 = Property(nullable: \Sample.other, "other")
    static let other2 = Property(\Sample.other, "other")  // error: or write Property(nullable:)
    static let shape = Property(\Sample.shape, "shape")  // error: the type has no form in JSON
    static let point1 = Property(\Sample.point, "point", access: .server)  // error: a ModelValue, or pass a codec
    static let point2 = Property(nullable: \Sample.point2, "point")  // error: a ModelValue, or pass a codec
    static let point3 = Property(\Sample.point, "point", codec: codec())
    static let wrong: Property<Sample, String> = Property(\.kind, "kind")  // error: cannot convert
}

final class Person: Model {}

/// A type with raw values.
enum Kind: String { case small, large }

/// A type without raw values.
enum Shape { case square }

/// A value without a form in JSON.
struct Point: Equatable { var x = 0 }

/// An object that changes, unnoticed by whoever holds it.
final class Box: Equatable {
    var content = 0

    static func == (left: Box, right: Box) -> Bool { left.content == right.content }
}

/// An object that does not change.
final class Frozen: Equatable, Sendable {
    static func == (left: Frozen, right: Frozen) -> Bool { true }
}

/// A value with a part that changes unnoticed.
struct Mixed: Equatable {
    var box = Box()
}

func codec<Value>() -> Codec<Value> { Codec(decode: { _ in nil }, encode: { _ in 0 }) }
