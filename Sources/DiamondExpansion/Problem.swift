#if Macros
import SwiftDiagnostics

/// The error message for a declaration that `@Modeled` does not support.
enum Problem: DiagnosticMessage {
    case noClass, generic, noSuperclass(String)
    case several, pattern, conditional, transientServer, variableCollection
    case observers(String), constant(String), optional(String), noDefault(String), noType(String)
    case mutableObject(String), modelArray(String), recursive(String, of: String)
    case unreadMarker(String), uselessMarker(String)

    var diagnosticID: MessageID { MessageID(domain: "DiamondModel", id: String("\(self)".prefix { $0 != "(" })) }
    var severity: DiagnosticSeverity { .error }

    var message: String {
        switch self {
        case .noClass: "'@Modeled' is for classes: make this a class"
        case .generic:
            "a generic class cannot store the constants of its properties: declare them by hand, in another type"
        case .noSuperclass(let name): "'\(name)' must inherit from 'Model', or from a class that does"
        case .several: "declare one property at a time"
        case .pattern: "a property has one name: declare the parts of a pattern one at a time"
        case .conditional: "a property of a class marked '@Modeled' cannot be inside '#if'"
        case .transientServer: "'@Transient' and '@Server' exclude each other: remove one"
        case .variableCollection: "a collection must be a 'let': its models change, and it reports that"
        case .observers(let name): "'\(name)' cannot have 'willSet' or 'didSet': observe the model instead"
        case .constant(let name): "'\(name)' is a constant, which no JSON can set: make it a 'var', or 'static'"
        case .optional(let name):
            "'\(name)' is optional: give it a default that is not nil, or mark it '@Nullable'"
        case .noDefault(let name): "'\(name)' needs a default: the value that a new object has"
        case .noType(let name): "'\(name)' needs a written type: its initial value does not name it"
        case .mutableObject(let type): "'\(type)' can change unnoticed: use a value, a Model or a ModelCollection"
        case .modelArray(let element): "an array of models is a ModelCollection<\(element)>"
        case .recursive(let name, let model):
            "'\(name)' would create objects without end: make it '@Nullable var \(name): \(model)?', nil at first"
        case .unreadMarker(let name): "'@\(name)' is for the properties of a class marked '@Modeled'"
        case .uselessMarker(let name):
            "'@\(name)' is for stored properties that are neither static nor lazy nor weak"
        }
    }
}

/// A change that solves a problem.
struct Solution: FixItMessage {
    let message: String

    var fixItID: MessageID { MessageID(domain: "DiamondModel", id: message) }
}
#endif
