#if canImport(SwiftUI)
public import DiamondModel
import Observation
public import SwiftUI

/// A list of the rows of a ``TableSource``.
///
/// SwiftUI compares the identities of rows itself and needs no batches. Not compiled on Linux, where the tests of this
/// package run.
public struct TableList<Row: View, Status: View>: View {
    @State private var display = TableListDisplay()
    private let source: TableSource
    private let row: (Any, RowState) -> Row
    private let status: (Presentation, NextPageState) -> Status

    /// Creates a list.
    ///
    /// - Parameters:
    ///   - source: The source of the rows.
    ///   - row: Makes the view of a row from its object and state.
    ///   - status: Makes the last row, which shows the state of the table and of the next page.
    public init(
        _ source: TableSource, @ViewBuilder row: @escaping (Any, RowState) -> Row,
        @ViewBuilder status: @escaping (Presentation, NextPageState) -> Status
    ) {
        self.source = source
        self.row = row
        self.status = status
    }

    public var body: some View {
        List {
            ForEach(display.sections) { section in
                Section {
                    ForEach(section.rows) { content($0) }
                        .onDelete { $0.reversed().forEach { shown.remove(at: RowPath(section: section.id, row: $0)) } }
                        .onMove { display.move($0, to: $1, in: section.id) }
                } header: {
                    if let title = section.title { Text(title) }
                } footer: {
                    if let footer = section.footer { Text(footer) }
                }
            }
            status(display.presentation, display.more)
        }
        .refreshable { [display] in await display.refresh() }
        .onChange(of: ObjectIdentifier(source), initial: true) { display.controller.source = source }
    }

    /// The source that the list shows.
    private var shown: TableSource { display.controller.source }

    private func content(_ item: TableListDisplay.Row) -> some View {
        row(item.object, item.state)
            .onTapGesture { shown.select(item.path) }
            .onAppear { display.appear(item) }
            .onDisappear { display.disappear(item) }
            .deleteDisabled(!shown.canRemove(item.path))
            .moveDisabled(!shown.canMove(item.path))
    }
}

/// The display of a ``TableList``, with its rows as of the last change.
@MainActor
@Observable
final class TableListDisplay: @MainActor TableDisplay {
    struct Row: Identifiable {
        let id: AnyHashable
        let path: RowPath
        let object: Any
        let state: RowState
    }

    struct Section: Identifiable {
        let id: Int
        let title: String?
        let footer: String?
        let rows: [Row]
    }

    let controller: TableController
    private(set) var sections: [Section] = []
    private(set) var presentation = Presentation.loading
    private(set) var more = NextPageState.none
    /// The identities of the visible rows.
    @ObservationIgnored private var onScreen: Set<AnyHashable> = []

    /// Creates a display without rows. It gets its source when it is on screen, because SwiftUI creates more displays
    /// than it retains.
    init() {
        controller = TableController(TableSource([]))
        controller.display = self
    }

    var isOnScreen: Bool { true }

    func performBatch(_ batch: TableBatch, update: @escaping () -> Void) {
        update()
        reload()
    }

    func reload() {
        let source = controller.source
        sections = (0..<source.numberOfSections).map { section in
            Section(
                id: section, title: source.title(of: section), footer: source.footer(of: section),
                rows: (0..<source.numberOfRows(in: section)).compactMap { row(at: RowPath(section: section, row: $0)) })
        }
    }

    private func row(at path: RowPath) -> Row? {
        let source = controller.source
        guard let id = source.rowID(at: path), let object = source.representedObject(at: path) else { return nil }
        return Row(id: id, path: path, object: object, state: source.state(at: path))
    }

    func reconfigure(_ paths: [RowPath]) { reload() }

    func show(_ presentation: Presentation, more: NextPageState) {
        self.presentation = presentation
        self.more = more
        if more == .ready { controller.source.startLoadingMore(showing: lastRowOnScreen) }
    }

    // MARK: Loading

    func appear(_ row: Row) {
        onScreen.insert(row.id)
        controller.source.startLoadingMore(showing: row.path)
    }

    func disappear(_ row: Row) { onScreen.remove(row.id) }

    private var lastRowOnScreen: RowPath? {
        sections.lazy.reversed().flatMap { $0.rows.reversed() }.first { self.onScreen.contains($0.id) }?.path
    }

    func refresh() async { await controller.source.refresh() }

    /// Moves a row. SwiftUI counts the target before the row is removed.
    func move(_ rows: IndexSet, to place: Int, in section: Int) {
        guard let row = rows.first else { return }
        let target = RowPath(section: section, row: place > row ? place - 1 : place)
        controller.source.move(from: RowPath(section: section, row: row), to: target)
        reload()
    }
}
#endif
