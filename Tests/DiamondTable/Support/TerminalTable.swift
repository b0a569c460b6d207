import DiamondModel
import DiamondTable

/// A table as lines of text: an overlay or its sections, and a last line for further pages.
@MainActor
final class TerminalTable {
    let controller: TableController
    private let registry: RepresentationRegistry<String>
    private var sections: [(title: String?, rows: [String], footer: String?)] = []
    private var presentation = Presentation.content
    private var more = NextPageState.none
    /// The operations and the drawn rows, to check that only changes are drawn.
    private(set) var log: [String] = []

    init(_ source: TableSource, _ registry: RepresentationRegistry<String>) {
        controller = TableController(source)
        self.registry = registry
        controller.display = self
    }

    private func line(at path: RowPath) -> String {
        let source = controller.source
        guard let object = source.representedObject(at: path) else { return "" }
        return registry.representation(of: object, state: source.state(at: path))
    }

    private func section(_ index: Int) -> (title: String?, rows: [String], footer: String?) {
        let source = controller.source
        let rows = (0..<source.numberOfRows(in: index)).map { line(at: RowPath(section: index, row: $0)) }
        return (source.title(of: index), rows, source.footer(of: index))
    }

    /// The visible table.
    var text: String {
        var lines: [String] = []
        switch presentation {
        case .loading: lines.append("Loading …")
        case .empty: lines.append("Nothing here")
        case .offline: lines.append("Offline")
        case .error(let message): lines.append("Error: \(message) [Retry]")
        case .nothing, .content: break
        }
        for section in sections {
            if let title = section.title { lines.append("— \(title) —") }
            lines += section.rows.map { (controller.isEditing ? "≡ " : "  ") + $0 }
            if let footer = section.footer { lines.append("  (\(footer))") }
        }
        switch more {
        case .none: break
        case .ready: lines.append("▾ more")
        case .loading: lines.append("▾ loading …")
        case .failed(let message): lines.append("▾ \(message) [Retry]")
        }
        return lines.joined(separator: "\n")
    }
}

extension TerminalTable: @MainActor TableDisplay {
    var isOnScreen: Bool { true }

    func performBatch(_ batch: TableBatch, update: @escaping () -> Void) {
        log.append("-\(batch.deletions.count) +\(batch.insertions.count) ↕\(batch.moves.count)")
        let old = sections
        update()
        var kept = old.enumerated().map { section, content in
            let gone = Set((batch.deletions + batch.moves.map(\.from)).filter { $0.section == section }.map(\.row))
            let rows = content.rows.indices.filter { !gone.contains($0) }.map { content.rows[$0] }
            return (content.title, rows, content.footer)
        }
        for section in batch.deletedSections.reversed() { kept.remove(at: section) }
        for index in batch.insertedSections { kept.insert(section(index), at: index) }
        let moved = batch.moves.map { ($0.to, old[$0.from.section].rows[$0.from.row]) }
        let arriving = batch.insertions.map { ($0, line(at: $0)) } + moved
        for (path, line) in arriving.sorted(by: { $0.0 < $1.0 }) { kept[path.section].1.insert(line, at: path.row) }
        sections = kept
    }

    func reload() {
        log.append("reload")
        sections = (0..<controller.source.numberOfSections).map(section)
    }

    func reconfigure(_ paths: [RowPath]) {
        log.append("draw \(paths.map(\.description).joined(separator: " "))")
        for path in paths { sections[path.section].rows[path.row] = line(at: path) }
    }

    func show(_ presentation: Presentation, more: NextPageState) {
        self.presentation = presentation
        self.more = more
    }
}
