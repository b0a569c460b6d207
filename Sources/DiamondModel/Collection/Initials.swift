import Foundation

/// The sections of an index of names: kana rows, Latin initials, and the rest.
enum Initials {
    /// The first kana of each row.
    private static let rows = Array("あかさたなはまやらわ")
    private static let rest = "#"

    /// Returns the key of a text's section.
    static func key(of text: String) -> String {
        if let key = asciiKey(of: text) { return key }
        guard let first = text.trimmingCharacters(in: .whitespacesAndNewlines).first else { return rest }
        if let row = kanaRow(of: first) { return row }
        let folded = String(first).folding(options: [.diacriticInsensitive, .widthInsensitive], locale: nil)
            .uppercased()
        guard let letter = folded.first, ("A"..."Z").contains(letter) else { return rest }
        return String(letter)
    }

    /// Returns the key of a text whose first character is ASCII, the usual case; `nil` for other texts.
    private static func asciiKey(of text: String) -> String? {
        var bytes = text.utf8.makeIterator()
        // A mark of another script may follow, which changes the character.
        guard let first = bytes.next(), (0x21..<0x7F).contains(first), bytes.next().map({ $0 < 0x80 }) ?? true else {
            return nil
        }
        let letter = first & ~0x20
        return (0x41...0x5A).contains(letter) ? String(UnicodeScalar(letter)) : rest
    }

    /// Returns the row of a kana: hiragana or katakana, full or half width, small or voiced.
    private static func kanaRow(of character: Character) -> String? {
        let wide = String(character).applyingTransform(.fullwidthToHalfwidth, reverse: true) ?? String(character)
        let hiragana = wide.applyingTransform(.hiraganaToKatakana, reverse: true) ?? wide
        guard let scalar = hiragana.decomposedStringWithCanonicalMapping.unicodeScalars.first,
            (0x3041...0x3096).contains(scalar.value)
        else { return nil }
        let kana = fullSize(Character(scalar))
        return rows.last { $0 <= kana }.map { String($0) }
    }

    /// Returns the kana that determines the row of a small kana: や for ゃ, わ for ゎ.
    private static func fullSize(_ kana: Character) -> Character {
        switch kana {
        case "ぁ", "ぃ", "ぅ", "ぇ", "ぉ": "あ"
        case "っ": "た"
        case "ゃ", "ゅ", "ょ": "や"
        case "ゎ": "わ"
        case "ゔ": "あ"
        case "ゕ", "ゖ": "か"
        default: kana
        }
    }

    static func precedes(_ left: String, _ right: String) -> Bool { (rank(left), left) < (rank(right), right) }

    private static func rank(_ key: String) -> Int {
        if key == rest { return 2 }
        return key.first.map(rows.contains) == true ? 0 : 1
    }
}
