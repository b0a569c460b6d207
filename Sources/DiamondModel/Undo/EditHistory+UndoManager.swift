#if canImport(ObjectiveC)
public import Foundation

extension EditHistory {
    /// Registers each later step with an undo manager, such as that of a window or a view's environment. Its commands
    /// undo and redo the steps: call its methods then instead of ``undo()`` and ``redo()``.
    @MainActor
    public func register(with manager: UndoManager) {
        // An action that is registered during an undo can be redone.
        didChange = { [weak self, weak manager] isUndoable in
            guard let self, let manager else { return }
            if isUndoable {
                manager.registerUndo(withTarget: self) { $0.undo() }
            } else {
                manager.registerUndo(withTarget: self) { $0.redo() }
            }
        }
    }
}
#endif
