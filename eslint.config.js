import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["build/", "dist/", "target/", "node_modules/"] },
  {
    files: ["www/src/**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // The worker throws the plain error objects that cross its boundary.
      "@typescript-eslint/only-throw-error": "off",
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
);
