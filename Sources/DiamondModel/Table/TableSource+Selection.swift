/// The state that the user gives a row, for its representation.
public struct RowState: OptionSet, Hashable, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The row is selected.
    public static let selected = RowState(rawValue: 1)
    /// A finger or a pointer is on the row.
    public static let highlighted = RowState(rawValue: 2)
}

extension RowState: CustomStringConvertible {
    public var description: String {
        let names = [contains(.selected) ? "selected" : nil, contains(.highlighted) ? "highlighted" : nil]
        return "[\(names.compactMap(\.self).joined(separator: ", "))]"
    }
}

extension TableSource {
    /// Calls `receive` with the model or value of each row that the user selects.
    ///
    /// If several receivers apply, the one for the exact class is called; otherwise the one for the nearest superclass;
    /// otherwise the first for a protocol or `Any`. Another receiver for the same type takes the place of the first.
    public func onSelection<Object>(of type: Object.Type, _ receive: @escaping (Object, RowPath) -> Void) {
        selectionHandlers.set(for: type) { object, path in
            if let object = object as? Object { receive(object, path) }
        }
    }

    /// Selects a row, and calls its receiver. The row is configured again with its new state.
    public func select(_ path: RowPath) {
        guard let key = key(at: path), let object = representedObject(at: path) else { return }
        if !allowsMultipleSelection {
            for (other, object) in selected where other != key { restated[other] = object }
            selected = selected.filter { $0.key == key }
        }
        if selected.updateValue(object, forKey: key) == nil { restated[key] = object }
        apply()
        selectionHandlers.value(for: object)?(object, path)
    }

    /// Ends the selection of a row.
    public func deselect(_ path: RowPath) {
        guard let key = key(at: path), let object = selected.removeValue(forKey: key) else { return }
        restated[key] = object
        apply()
    }

    /// The models and values of the selected rows, in the order of the rows.
    public var selection: [Any] { selectedPaths.compactMap(representedObject) }

    private var selectedPaths: [RowPath] { selected.compactMap { path(of: $0.key, $0.value) }.sorted() }

    func limitSelection() {
        if !allowsMultipleSelection, let first = selectedPaths.first.flatMap(key) {
            selected = selected.filter { $0.key == first }
        }
        needsReload = true
        apply()
    }

    /// Marks a row as touched, or no row. The row is configured again with its new state.
    public func highlight(_ path: RowPath?) {
        if let highlighted { restated[highlighted.key] = highlighted.object }
        highlighted = nil
        if let path, let key = key(at: path), let object = representedObject(at: path) {
            highlighted = (key, object)
            restated[key] = object
        }
        apply()
    }

    /// Returns the state of a row.
    public func state(at path: RowPath) -> RowState {
        if selected.isEmpty, highlighted == nil { return [] }
        guard let key = key(at: path) else { return [] }
        var state: RowState = selected[key] == nil ? [] : .selected
        if highlighted?.key == key { state.insert(.highlighted) }
        return state
    }

    /// Ends the selection of rows that are gone.
    func forgetAbsentRows() {
        if !selected.isEmpty { selected = selected.filter { path(of: $0.key, $0.value) != nil } }
        if let row = highlighted, path(of: row.key, row.object) == nil { highlighted = nil }
    }
}
