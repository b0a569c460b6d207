public import DiamondModel

/// The state of a row for its representation: selected, highlighted.
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
    /// Sets the handler for selected rows with models or values of a type. Replaces an earlier one for the same type.
    ///
    /// If several handlers apply, the one for the exact class is called; otherwise the one for the nearest superclass;
    /// otherwise the first for a protocol or `Any`.
    public func onSelection<Object>(of type: Object.Type, receive: @escaping (Object, RowPath) -> Void) {
        selectionHandlers.set(for: type) { object, path in
            if let object = object as? Object { receive(object, path) }
        }
    }

    /// Selects a row, configures it with its new state, and calls its handler.
    public func select(_ path: RowPath) {
        guard let key = key(at: path), let object = representedObject(at: path) else { return }
        if !allowsMultipleSelection {
            for (other, object) in selected where other != key { rowsToReconfigure[other] = object }
            selected = selected.filter { $0.key == key }
        }
        if selected.updateValue(object, forKey: key) == nil { rowsToReconfigure[key] = object }
        apply()
        selectionHandlers.value(for: object)?(object, path)
    }

    /// Deselects a row.
    public func deselect(_ path: RowPath) {
        guard let key = key(at: path), let object = selected.removeValue(forKey: key) else { return }
        rowsToReconfigure[key] = object
        apply()
    }

    /// The models and values of the selected rows, in the order of the rows.
    public var selection: [Any] { selectedPaths.compactMap(representedObject) }

    private var selectedPaths: [RowPath] { selected.compactMap { path(of: $0.key, object: $0.value) }.sorted() }

    func limitSelection() {
        if !allowsMultipleSelection, let first = selectedPaths.first.flatMap(key) {
            selected = selected.filter { $0.key == first }
        }
        needsReload = true
        apply()
    }

    /// Highlights a row, or no row. Configures the row with its new state.
    public func highlight(_ path: RowPath?) {
        if let highlighted { rowsToReconfigure[highlighted.key] = highlighted.object }
        highlighted = nil
        if let path, let key = key(at: path), let object = representedObject(at: path) {
            highlighted = (key, object)
            rowsToReconfigure[key] = object
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

    /// Deselects rows that no longer exist.
    func deselectRemovedRows() {
        if !selected.isEmpty { selected = selected.filter { path(of: $0.key, object: $0.value) != nil } }
        if let row = highlighted, path(of: row.key, object: row.object) == nil { highlighted = nil }
    }
}
