import Diamond
import DiamondModel
import DiamondTable
import DiamondTestSupport
import DiamondTesting
import Testing

@Suite("The registry of representations") struct RepresentationRegistryTests {
    private class Shape: Model {}
    private class Circle: Shape, Named { var name: String { "circle" } }
    private final class Dot: Circle {}
    private final class Square: Shape, Representable {
        func representation(in context: RepresentationContext, state: RowState) -> String? {
            context == .list ? "a square by itself" : nil
        }
    }
    private struct Note: Named, Tagged { var name: String { "note" } }

    private var reported: [UnknownRepresentation] { log.reported }
    private let log = Log()

    private final class Log { var reported: [UnknownRepresentation] = [] }

    private func registry() -> RepresentationRegistry<String> {
        RepresentationRegistry(fallback: { "? \(type(of: $0))" }, onUnknown: { [log] in log.reported.append($0) })
    }

    @Test func `a class has the representation that is registered for it or for its nearest superclass`() {
        let registry = registry()
        registry.register(Model.self) { _, _ in "model" }
        registry.register((any Named).self) { named, _ in named.name }
        registry.register(Shape.self) { _, _ in "shape" }
        registry.register(Circle.self) { _, _ in "circle class" }
        #expect(registry.representation(of: Dot()) == "circle class")
        #expect(registry.representation(of: Shape()) == "shape")
        #expect(registry.representation(of: Item()) == "model")
        registry.register(Dot.self) { _, _ in "dot" }
        #expect(registry.representation(of: Dot()) == "dot")
        registry.register(Dot.self) { _, _ in "other dot" }
        #expect(registry.representation(of: Dot()) == "other dot")
    }

    @Test
    func `an object without a registered class is represented by the first registered protocol that it conforms to`() {
        let registry = registry()
        registry.register((any Named).self) { named, _ in "named \(named.name)" }
        registry.register((any Tagged).self) { _, _ in "tagged" }
        registry.register(String.self) { text, _ in text }
        #expect(registry.representation(of: Note()) == "named note")
        #expect(registry.representation(of: Dot()) == "named circle")
        #expect(registry.representation(of: "text") == "text")
        registry.register((any Named).self) { named, _ in "again \(named.name)" }
        #expect(registry.representation(of: Note()) == "again note")
    }

    @Test func `a model represents itself where its class is not registered`() {
        let registry = registry()
        registry.register(Any.self) { _, _ in "anything" }
        registry.register(Any.self, in: .detail) { _, _ in "any page" }
        #expect(registry.representation(of: Square()) == "a square by itself")
        #expect(registry.representation(of: Square(), in: .detail) == "any page")
        registry.register(Shape.self) { _, _ in "shape" }
        #expect(registry.representation(of: Square()) == "shape")
    }

    @Test func `each context has its own representations`() {
        let registry = registry()
        registry.register(String.self) { text, _ in "row \(text)" }
        registry.register(String.self, in: .detail) { text, _ in "page \(text)" }
        #expect(registry.representation(of: "x") == "row x")
        #expect(registry.representation(of: "x", in: .detail) == "page x")
    }

    @Test func `an unknown type has the fallback, and is reported once per context`() {
        let registry = registry()
        registry.register(String.self) { text, _ in text }
        #expect(registry.representation(of: 7) == "? Int")
        #expect(registry.representation(of: 8) == "? Int")
        #expect(registry.representation(of: 8, in: RepresentationContext("map")) == "? Int")
        #expect(
            reported.map(\.description) == [
                "Int has no representation for list: register one for it, a superclass or a protocol",
                "Int has no representation for map: register one for it, a superclass or a protocol",
            ])
        registry.register(Int.self) { number, _ in "\(number)" }
        #expect(registry.representation(of: 8) == "8")
    }

    @Test func `the representation receives the state`() {
        let registry = registry()
        registry.register(String.self) { text, state in state.contains(.selected) ? "*\(text)" : text }
        #expect(registry.representation(of: "x", state: .selected) == "*x")
    }

    @Test func `a view is configured with the model, by closures that know both types`() {
        final class Cell { var text = "" }
        let registry = RepresentationRegistry<ViewRepresentation>(
            fallback: { _ in ViewRepresentation(Cell.self) { _ in } })
        registry.register(Item.self, as: Cell.self) { cell, item, state in cell.text = "\(item.id) \(state.rawValue)" }
        let representation = registry.representation(of: Item.make(7), state: .selected)
        #expect(ObjectIdentifier(representation.viewClass) == ObjectIdentifier(Cell.self))
        #expect(representation.reuseIdentifier.contains("Cell"))
        let cell = Cell()
        representation.configure(cell)
        #expect(cell.text == "7 1")
        representation.configure(Item())
    }
}

private protocol Named { var name: String { get } }
private protocol Tagged {}
