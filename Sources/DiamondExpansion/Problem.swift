#if Macros
import SwiftDiagnostics

/// The error message for a declaration that `@Modeled` does not support.
struct Problem: DiagnosticMessage {
    let id: String
    let message: String

    var diagnosticID: MessageID { MessageID(domain: "DiamondModel", id: id) }
    var severity: DiagnosticSeverity { .error }

    private init(_ id: String, _ message: String) {
        self.id = id
        self.message = message
    }

    // MARK: Classes

    static let noClass = Problem("noClass", "'@Modeled' is for classes: make this a class")
    static let generic = Problem(
        "generic", "a generic class cannot store the constants of its properties: declare them by hand, in another type"
    )

    static func noSuperclass(_ name: String) -> Problem {
        Problem("noSuperclass", "'\(name)' must inherit from 'Model', or from a class that does")
    }

    // MARK: Properties

    static let several = Problem("several", "declare one property at a time")
    static let pattern = Problem("pattern", "a property has one name: declare the parts of a pattern one at a time")
    static let conditional = Problem("conditional", "a property of a class marked '@Modeled' cannot be inside '#if'")
    static let transientServer = Problem(
        "transientServer", "'@Transient' and '@Server' exclude each other: remove one"
    )
    static let variableCollection = Problem(
        "variableCollection", "a collection must be a 'let': its models change, and it reports that")

    static func observers(_ name: String) -> Problem {
        Problem("observers", "'\(name)' cannot have 'willSet' or 'didSet': observe the model instead")
    }

    static func constant(_ name: String) -> Problem {
        Problem("constant", "'\(name)' is a constant, which no JSON can set: make it a 'var', or 'static'")
    }

    static func mutableObject(_ type: String) -> Problem {
        Problem("mutableObject", "'\(type)' can change unnoticed: use a value, a Model or a ModelCollection")
    }

    static func modelArray(_ element: String) -> Problem {
        Problem("modelArray", "an array of models is a ModelCollection<\(element)>")
    }

    static func optional(_ name: String) -> Problem {
        Problem("optional", "'\(name)' is optional: give it a default that is not nil, or mark it '@Nullable'")
    }

    static func recursive(_ name: String, _ model: String) -> Problem {
        Problem(
            "recursive",
            "'\(name)' would create objects without end: make it '@Nullable var \(name): \(model)?', nil at first"
        )
    }

    static func noDefault(_ name: String) -> Problem {
        Problem("noDefault", "'\(name)' needs a default: the value that a new object has")
    }

    static func noType(_ name: String) -> Problem {
        Problem("noType", "'\(name)' needs a written type: its initial value does not name it")
    }

    // MARK: Attributes

    static func unreadMarker(_ name: String) -> Problem {
        Problem("unreadMarker", "'@\(name)' is for the properties of a class marked '@Modeled'")
    }

    static func uselessMarker(_ name: String) -> Problem {
        Problem("uselessMarker", "'@\(name)' is for stored properties that are neither static nor lazy nor weak")
    }
}

/// A change that solves a problem.
struct Solution: FixItMessage {
    let message: String

    var fixItID: MessageID { MessageID(domain: "DiamondModel", id: message) }
}
#endif
