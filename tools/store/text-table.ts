/** Rows as text in columns, the first one their heads; columns of numbers stand to the right. */
export const textTable = (rows: readonly (readonly string[])[]): string => {
  const [head = [], ...body] = rows;
  const columns = head.map((_, column) => {
    const isNumber = body.every((row) => /^(\d+|-)$/.test(row[column] ?? ""));
    return { width: Math.max(...rows.map((row) => row[column]?.length ?? 0)), isNumber };
  });
  const lines = rows.map((row) =>
    columns
      .map(({ width, isNumber }, column) => {
        const cell = row[column] ?? "";
        return isNumber ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n`;
};
